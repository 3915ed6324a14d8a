#include "bridge/cli/report/exit_report.h"

#include <errno.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "bridge/cli/report/escaped_text.h"
#include "bridge/options/duration_field.h"
#include "bridge/options/quantity.h"
#include "bridge/options/signal_name.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::ExitStatus;
using corral::v1::StartFailure;

std::string StageText(StartFailure::Stage stage) {
  return absl::AsciiStrToLower(StartFailure::Stage_Name(stage));
}

// The codes of a shell, for chdir and exec: only those failures are the
// caller's own.
int StartFailureCode(const StartFailure& failure) {
  if (failure.stage() == StartFailure::EXEC) {
    return failure.errno_value() == ENOENT ? 127 : 126;
  }
  return failure.stage() == StartFailure::CHDIR ? 126 : kCorralFailed;
}

std::string ExplainStartFailure(const Execution& execution) {
  const StartFailure& failure = execution.start_failure();
  if (failure.errno_value() == EINTR) {
    return absl::StrCat(Printable(execution.command().argv(0)),
                        ": killed before it was executed");
  }
  const std::string& subject = failure.stage() == StartFailure::CHDIR
                                   ? execution.command().working_directory()
                                   : execution.command().argv(0);
  return absl::StrCat(Printable(subject), ": ", StageText(failure.stage()),
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
    case ExitStatus::CPU_TIMEOUT:
      return " (CPU timeout)";
    case ExitStatus::OUTPUT_LIMIT:
      return " (output limit)";
    case ExitStatus::OUTPUT_FAILED:
      return " (output failed)";
    case ExitStatus::SYSCALL_DENIED:
      return " (system call denied)";
    case ExitStatus::SANDBOX_EXPIRED:
      return " (sandbox expired)";
    default:
      return "";
  }
}

std::string OutOfMemoryText(const Execution& execution) {
  const uint64_t peak = execution.usage().memory_peak_bytes();
  return absl::StrCat(
      "out of memory: the sandbox reached its limit (",
      HowText(execution.exit()),
      peak > 0 ? absl::StrCat(", peak ", FormatBytes(peak)) : "", ")");
}

std::string NormalText(const Execution& execution) {
  const uint64_t oom_kills = execution.usage().oom_kills();
  if (oom_kills > 0) {
    return absl::StrCat("out of memory: the sandbox reached its limit, ",
                        oom_kills, " of its processes killed");
  }
  return execution.exit().signal() == SIGXFSZ
             ? "a file reached its limit of size (SIGXFSZ)"
             : "";
}

std::string ExplainCause(const Execution& execution) {
  const corral::v1::Command& command = execution.command();
  const std::string how = absl::StrCat(" (", HowText(execution.exit()), ")");
  switch (execution.exit().cause()) {
    case ExitStatus::WALL_TIMEOUT:
      return absl::StrCat("ended by its timeout of ",
                          FormatDuration(command.wall_timeout()), how);
    case ExitStatus::CPU_TIMEOUT:
      return absl::StrCat("ended by its CPU timeout of ",
                          FormatDuration(command.cpu_timeout()), how);
    case ExitStatus::OUT_OF_MEMORY:
      return OutOfMemoryText(execution);
    case ExitStatus::SANDBOX_DELETED:
      return absl::StrCat("the sandbox was deleted", how);
    case ExitStatus::SERVER_SHUTDOWN:
      return absl::StrCat("the server was shut down", how);
    case ExitStatus::OUTPUT_LIMIT:
      return absl::StrCat("it wrote more output than the ",
                          FormatBytes(command.output().retain_bytes()),
                          " that are kept", how);
    case ExitStatus::OUTPUT_FAILED:
      return absl::StrCat("the server's disk took no more of its output", how);
    case ExitStatus::SYSCALL_DENIED:
      return absl::StrCat("killed for a system call that the sandbox denies",
                          how);
    case ExitStatus::SANDBOX_EXPIRED:
      return absl::StrCat("the sandbox's lifetime was over", how);
    default:
      return NormalText(execution);
  }
}

// Escapes the names, because processes choose them.
std::string KilledText(const ExitStatus& exit) {
  std::vector<std::string> commands;
  for (const corral::v1::KilledProcess& process : exit.killed()) {
    const std::string command = Printable(process.command());
    if (std::find(commands.begin(), commands.end(), command) ==
        commands.end()) {
      commands.push_back(command);
    }
  }
  return absl::StrCat("; also killed: ", exit.killed_count(),
                      exit.killed_count() == 1 ? " process" : " processes",
                      commands.empty() ? "" : " (",
                      absl::StrJoin(commands, ", "),
                      commands.empty() ? "" : ")");
}

std::string ExplainExit(const Execution& execution) {
  const std::string cause = ExplainCause(execution);
  return cause.empty() || execution.exit().killed_count() == 0
             ? cause
             : absl::StrCat(cause, KilledText(execution.exit()));
}

std::string ExplainLoss(const Execution& execution) {
  const std::string& why = execution.loss().message();
  return absl::StrCat(
      "how the command ended is not known: ",
      why.empty() ? "its supervisor died" : absl::string_view(why));
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
      return ExplainLoss(execution);
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
