#ifndef BRIDGE_ACP_DISPLAY_TOOL_CALL_H_
#define BRIDGE_ACP_DISPLAY_TOOL_CALL_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/members.h"

namespace bridge {

// Holds what all messages about one tool call said together.
// Values stay text as the agent wrote it, so that the bridge can announce the
// call again without changing anything. Not thread-safe.
// https://agentclientprotocol.com/protocol/v1/tool-calls
class ToolCall {
 public:
  // Takes the members of a `tool_call` or `tool_call_update`. A null changes
  // nothing, since it means "not given" there.
  void Merge(const std::vector<Member>& update);

  // Empty if no message gave it.
  absl::string_view Get(absl::string_view name) const;
  void Set(absl::string_view name, absl::string_view value);

  // Returns true if the call executes commands and has not ended.
  bool IsRunningCommand() const;

  // The object of a `tool_call` with all that is known, but with this content,
  // and with `meta_member`, like R"("a":1)", added to `_meta`.
  std::string Announcement(absl::string_view content,
                           absl::string_view meta_member) const;

 private:
  // The members in the order of their first appearance; without sessionUpdate.
  std::vector<std::pair<std::string, std::string>> members_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_DISPLAY_TOOL_CALL_H_
