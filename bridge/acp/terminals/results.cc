#include "bridge/acp/terminals/results.h"

#include "bridge/acp/terminals/errors.h"
#include "bridge/jsonrpc/response.h"

namespace bridge {
namespace {

Json ToJson(const ExitStatus& status) {
  Json json = {{"exitCode", nullptr}, {"signal", nullptr}};
  if (status.code.has_value()) {
    json["exitCode"] = *status.code;
  }
  if (status.signal.has_value()) {
    json["signal"] = *status.signal;
  }
  return json;
}

// Adds to `_meta` why Corral ended the command, if it did.
void AddCause(const ExitStatus& status, Json& result) {
  if (!status.cause.empty()) {
    result["_meta"] = {{"corral", {{"cause", status.cause}}}};
  }
}

}  // namespace

Json OutputResult(const Terminal& terminal) {
  Json result = {{"output", static_cast<std::string>(terminal.output())},
                 {"truncated", terminal.truncated()}};
  switch (terminal.state()) {
    case Terminal::State::kRunning:
      break;
    case Terminal::State::kExited:
    case Terminal::State::kLost:
      result["exitStatus"] = ToJson(terminal.exit_status());
      AddCause(terminal.exit_status(), result);
      break;
  }
  return result;
}

std::optional<ExitStatus> EndAfterLoss(TerminalPhase phase,
                                       const absl::Status& failure) {
  if (IsHeld(phase) || !absl::IsNotFound(failure)) {
    return std::nullopt;
  }
  return ExitStatus{std::nullopt, "SIGKILL"};
}

std::string WaitAnswer(absl::string_view id, const Terminal& terminal) {
  if (terminal.state() != Terminal::State::kExited) {
    return ErrorLine(
        id, FromStatus(absl::UnavailableError(terminal.lost_reason())));
  }
  Json result = ToJson(terminal.exit_status());
  AddCause(terminal.exit_status(), result);
  return ResultLine(id, result);
}

}  // namespace bridge
