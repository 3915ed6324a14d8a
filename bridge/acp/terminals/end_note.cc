#include "bridge/acp/terminals/end_note.h"

#include "absl/strings/str_cat.h"
#include "bridge/options/duration_field.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::ExitStatus;

// Why the command ended; empty if Corral did not end it.
std::string Reason(const Execution& execution) {
  const corral::v1::Command& command = execution.command();
  switch (execution.exit().cause()) {
    case ExitStatus::WALL_TIMEOUT:
      return absl::StrCat("ended by its timeout of ",
                          FormatDuration(command.wall_timeout()));
    case ExitStatus::CPU_TIMEOUT:
      return absl::StrCat("ended by its CPU time limit of ",
                          FormatDuration(command.cpu_timeout()));
    case ExitStatus::OUT_OF_MEMORY:
      return "out of memory: the sandbox reached its limit";
    case ExitStatus::OUTPUT_LIMIT:
      return "ended because it wrote more output than allowed";
    case ExitStatus::OUTPUT_FAILED:
      return "the server's disk accepts no more output";
    case ExitStatus::SYSCALL_DENIED:
      return "killed because of a system call that is not allowed";
    case ExitStatus::SANDBOX_EXPIRED:
      return "ended because the sandbox's lifetime is over";
    case ExitStatus::SANDBOX_DELETED:
      return "ended because its sandbox was deleted";
    case ExitStatus::SERVER_SHUTDOWN:
      return "ended because the server shut down";
    default:
      break;
  }
  if (execution.usage().oom_kills() > 0) {
    return absl::StrCat(execution.usage().oom_kills(),
                        " of its processes were killed: the sandbox reached "
                        "its memory limit");
  }
  return "";
}

}  // namespace

EndNote MakeEndNote(const Execution& execution) {
  const std::string reason = Reason(execution);
  if (reason.empty()) {
    return {};
  }
  const bool ended_by_corral =
      execution.exit().cause() != ExitStatus::NORMAL &&
      execution.exit().cause() != ExitStatus::CLIENT_SIGNAL;
  return {absl::StrCat("corral: ", reason, "\n"),
          ExitStatus::Cause_Name(ended_by_corral ? execution.exit().cause()
                                                 : ExitStatus::OUT_OF_MEMORY)};
}

EndNote RefusalNote(const std::string& reason) {
  return {absl::StrCat("corral: not run: ", reason, "\n"), "REFUSED"};
}

std::string LossText(const Execution& lost) {
  const std::string& why = lost.loss().message();
  return absl::StrCat(
      "how the command ended is not known: ",
      why.empty() ? "its sandbox died" : absl::string_view(why));
}

}  // namespace bridge
