// The messages about tool calls, as texts of JSON.
// https://agentclientprotocol.com/protocol/v1/tool-calls

#ifndef BRIDGE_ACP_DISPLAY_TOOL_CALL_UPDATE_H_
#define BRIDGE_ACP_DISPLAY_TOOL_CALL_UPDATE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bridge/acp/terminals/exit_status.h"
#include "bridge/jsonrpc/members.h"

namespace bridge {

// A message about a tool call; views point into the message.
struct ToolCallUpdate {
  std::string session_id;
  std::string call_id;
  absl::string_view text;
  std::vector<Member> members;
};

// Finds the tool call that is the member `name` of `params`.
std::optional<ToolCallUpdate> FindToolCall(absl::string_view params,
                                           absl::string_view name);

// Returns the line of a session/update; `update` is an object.
std::string SessionUpdateLine(const std::string& session_id,
                              absl::string_view update);

// Returns a tool_call_update with these members.
std::string MembersUpdate(const std::string& call_id,
                          absl::string_view members);

// Members of updates. The names in `_meta` are those that Zed and agents for it
// use: terminal_info in a tool_call makes the client show a terminal, the other
// two fill and end it.
std::string InfoMember(const std::string& terminal_id, const std::string& cwd);
std::string OutputMeta(const std::string& name, const std::string& terminal_id,
                       const std::string& data);
std::string ExitMeta(const std::string& terminal_id, const ExitStatus& exit);
std::string RawOutput(const std::string& output, const ExitStatus& exit);

}  // namespace bridge

#endif  // BRIDGE_ACP_DISPLAY_TOOL_CALL_UPDATE_H_
