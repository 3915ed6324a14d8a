// createSession, listSessions, destroySession, resize and signal.

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bridge/mcp/tools/tools.h"
#include "bridge/options/signal_name.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

constexpr int64_t kMaxColumns = 4096;
constexpr int64_t kMaxRows = 2048;

// Writes a date like JavaScript.
std::string ToIso(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

OrderedJson ToJson(const SessionInfo& info) {
  return {{"sessionId", info.id},
          {"shell", info.shell.shell},
          {"cols", info.shell.columns},
          {"rows", info.shell.rows},
          {"createdAt", ToIso(info.created)},
          {"lastActivityAt", ToIso(info.last_activity)},
          {"isDefault", info.is_default}};
}

}  // namespace

Tools::Result Tools::CreateSession(const Arguments& arguments) {
  ShellOptions shell = terminals_->options().shell;
  ASSIGN_OR_RETURN(shell.shell, arguments.String("shell", shell.shell));
  ASSIGN_OR_RETURN(shell.columns,
                   arguments.Integer("cols", shell.columns, 1, kMaxColumns));
  ASSIGN_OR_RETURN(shell.rows,
                   arguments.Integer("rows", shell.rows, 1, kMaxRows));
  ASSIGN_OR_RETURN(const SessionInfo session, terminals_->Create(shell));
  return ToolResult::Object(ToJson(session));
}

Tools::Result Tools::ListSessions(const Arguments& /*arguments*/) {
  ASSIGN_OR_RETURN(const std::vector<SessionInfo> sessions, terminals_->List());
  OrderedJson list = OrderedJson::array();
  for (const SessionInfo& session : sessions) {
    list.push_back(ToJson(session));
  }
  return ToolResult::Object(
      {{"sessions", list},
       {"maxSessions", terminals_->options().max_sessions},
       {"sessionIdleTimeout", absl::ToInt64Seconds(Terminals::kIdleTimeout)}});
}

Tools::Result Tools::DestroySession(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::string session,
                   arguments.RequiredString("sessionId"));
  const absl::Status destroyed = terminals_->Destroy(session);
  if (!destroyed.ok()) {
    // Without "Error: ", as terminal-mcp answers it.
    return ToolResult::Failure(std::string(destroyed.message()));
  }
  return ToolResult::Text(absl::StrCat("Session '", session, "' destroyed"),
                          {{"sessionId", session}});
}

Tools::Result Tools::Resize(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const int64_t columns,
                   arguments.Integer("cols", 0, 1, kMaxColumns));
  ASSIGN_OR_RETURN(const int64_t rows,
                   arguments.Integer("rows", 0, 1, kMaxRows));
  ASSIGN_OR_RETURN(const auto terminal, Find(arguments));
  RETURN_IF_ERROR(terminal->Resize(columns, rows));
  return ToolResult::Object({{"cols", columns}, {"rows", rows}});
}

Tools::Result Tools::Signal(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::string name, arguments.RequiredString("signal"));
  const absl::StatusOr<int> number = ParseSignal(name);
  if (!number.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid argument \"signal\": '", name,
                     "': ", number.status().message()));
  }
  ASSIGN_OR_RETURN(const auto terminal, Find(arguments));
  RETURN_IF_ERROR(terminal->Signal(*number));
  return ToolResult::Text(absl::StrCat("Sent signal: ", name),
                          {{"signal", *number}});
}

}  // namespace bridge
