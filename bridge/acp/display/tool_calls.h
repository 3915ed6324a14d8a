#ifndef BRIDGE_ACP_DISPLAY_TOOL_CALLS_H_
#define BRIDGE_ACP_DISPLAY_TOOL_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "bridge/acp/display/tool_call.h"

namespace bridge {

// The tool calls of all sessions. Keeps the latest 200 of each session, so that
// a long session stays small. Not thread-safe.
class ToolCalls {
 public:
  static constexpr size_t kMaxPerSession = 200;

  // Returns the tool call; makes it if it is new. The reference is valid until
  // the next call of Touch() or Close().
  ToolCall& Touch(const std::string& session_id, const std::string& call_id);

  // Returns null if it is not known.
  ToolCall* Find(const std::string& session_id, const std::string& call_id);

  // Returns the id of the only tool call of the session that executes commands
  // and has not ended; no value if there is none, or more than one.
  std::optional<std::string> OnlyRunningCommand(
      const std::string& session_id) const;

  void Close(const std::string& session_id) { sessions_.erase(session_id); }

 private:
  struct Entry {
    uint64_t age = 0;
    ToolCall call;
  };

  uint64_t next_age_ = 0;
  // The calls by session id, and then by call id.
  std::map<std::string, std::map<std::string, Entry>> sessions_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_DISPLAY_TOOL_CALLS_H_
