#include "bridge/cli/exit_report.h"

#include <errno.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bridge/cli/quantity.h"
#include "bridge/cli/signal_name.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::ExitStatus;
using corral::v1::StartFailure;

std::string StageText(StartFailure::Stage stage) {
  return absl::AsciiStrToLower(StartFailure::Stage_Name(stage));
}

// Stages from chdir on are the caller's to put right.
int StartFailureCode(const StartFailure& failure) {
  if (failure.stage() == StartFailure::EXEC) {
    return failure.errno_value() == ENOENT ? 127 : 126;
  }
  return failure.stage() == StartFailure::CHDIR ? 126 : kCorralFailed;
}

std::string ExplainStartFailure(const Execution& execution) {
  const StartFailure& failure = execution.start_failure();
  const std::string& subject = failure.stage() == StartFailure::CHDIR
                                   ? execution.command().working_directory()
                                   : execution.command().argv(0);
  return absl::StrCat(subject, ": ", StageText(failure.stage()),
                      " failed: ", ErrnoText(failure.errno_value()));
}

std::string HowText(const ExitStatus& exit) {
  return exit.how_case() == ExitStatus::kSignal
             ? SignalName(exit.signal())
             : absl::StrCat("exited ", exit.code());
}

std::string CauseText(ExitStatus::Cause cause) {
  switch (cause) {
    case ExitStatus::WALL_TIMEOUT:
      return " (timeout)";
    case ExitStatus::OUT_OF_MEMORY:
      return " (out of memory)";
    default:
      return "";
  }
}

std::string ExplainExit(const Execution& execution) {
  const ExitStatus& exit = execution.exit();
  switch (exit.cause()) {
    case ExitStatus::WALL_TIMEOUT: {
      const auto& timeout = execution.command().wall_timeout();
      const absl::Duration duration =
          absl::Seconds(timeout.seconds()) + absl::Nanoseconds(timeout.nanos());
      return absl::StrCat("ended by its timeout of ",
                          absl::FormatDuration(duration), " (", HowText(exit),
                          ")");
    }
    case ExitStatus::OUT_OF_MEMORY:
      return absl::StrCat(
          "out of memory: the sandbox reached its limit (", HowText(exit),
          execution.usage().memory_peak_bytes() > 0
              ? absl::StrCat(", peak ",
                             FormatBytes(execution.usage().memory_peak_bytes()))
              : "",
          ")");
    case ExitStatus::SANDBOX_DELETED:
      return absl::StrCat("the sandbox was deleted (", HowText(exit), ")");
    case ExitStatus::SERVER_SHUTDOWN:
      return absl::StrCat("the server was shut down (", HowText(exit), ")");
    default:
      return execution.usage().oom_kills() == 0
                 ? ""
                 : absl::StrCat(
                       "out of memory: the sandbox reached its limit, ",
                       execution.usage().oom_kills(),
                       " of its processes killed");
  }
}

}  // namespace

int ExitCode(const Execution& execution) {
  switch (execution.state()) {
    case Execution::EXITED:
      return execution.exit().how_case() == ExitStatus::kSignal
                 ? 128 + execution.exit().signal()
                 : execution.exit().code();
    case Execution::FAILED_TO_START:
      return StartFailureCode(execution.start_failure());
    default:
      return kCorralFailed;
  }
}

std::string ExplainEnd(const Execution& execution) {
  switch (execution.state()) {
    case Execution::EXITED:
      return ExplainExit(execution);
    case Execution::FAILED_TO_START:
      return ExplainStartFailure(execution);
    case Execution::LOST:
      return "how the command ended is not known: its supervisor died";
    default:
      return "the command has not ended";
  }
}

std::string StateText(const Execution& execution) {
  switch (execution.state()) {
    case Execution::EXITED:
      return absl::StrCat(HowText(execution.exit()),
                          CauseText(execution.exit().cause()));
    case Execution::FAILED_TO_START:
      return absl::StrCat("failed: ",
                          ErrnoName(execution.start_failure().errno_value()));
    case Execution::LOST:
      return "lost";
    case Execution::RUNNING:
      return "running";
    default:
      return "starting";
  }
}

}  // namespace bridge
