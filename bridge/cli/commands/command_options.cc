#include "bridge/cli/commands/command_options.h"

#include <cstdint>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bridge/cli/attach/terminal.h"
#include "bridge/options/duration_field.h"
#include "bridge/options/quantity.h"
#include "bridge/options/working_directory.h"
#include "sandbox/base/paths.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::OutputPolicy;

// The bytes of an attached command's output that are kept until this process
// has written them. The command waits when there is more.
constexpr uint64_t kRetainBytes = 16 << 20;

// The ranges of corral.v1.Command and OutputPolicy.
constexpr uint32_t kMinUserId = 1001;
constexpr uint32_t kMaxUserId = 59999;
constexpr uint64_t kMinRetainBytes = 64 << 10;
constexpr uint64_t kMaxRetainBytes = uint64_t{1} << 40;
constexpr absl::Duration kYear = absl::Hours(365 * 24);
constexpr DurationRange kDrain = {absl::ZeroDuration(), absl::Hours(1),
                                  "0s to 1h"};
constexpr DurationRange kKeepAfterEnd = {absl::ZeroDuration(), kYear,
                                         "0s to 365d"};

absl::StatusOr<OutputPolicy::Overflow> ParseOverflow(absl::string_view text) {
  if (text == "drop-oldest") {
    return OutputPolicy::DROP_OLDEST;
  }
  if (text == "head-and-tail") {
    return OutputPolicy::HEAD_AND_TAIL;
  }
  if (text == "block") {
    return OutputPolicy::BLOCK;
  }
  if (text == "kill") {
    return OutputPolicy::KILL;
  }
  return absl::InvalidArgumentError(
      "allowed is drop-oldest, head-and-tail, block or kill");
}

void Add(corral::v1::Command& command, absl::string_view name,
         absl::string_view value) {
  corral::v1::EnvironmentVariable* variable = command.add_environment();
  variable->set_name(name.data(), name.size());
  variable->set_value(value.data(), value.size());
}

bool Has(const corral::v1::Command& command, absl::string_view name) {
  for (const auto& variable : command.environment()) {
    if (variable.name() == name) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::Status CommandOptions::AddEnvironment(absl::string_view text) {
  const size_t equals = text.find('=');
  if (text.empty() || equals == 0) {
    return absl::InvalidArgumentError("allowed is NAME=VALUE or NAME");
  }
  if (equals != absl::string_view::npos) {
    Add(command_, text.substr(0, equals), text.substr(equals + 1));
    return absl::OkStatus();
  }
  const auto variable = static_cast<std::string>(text);
  if (const char* value = std::getenv(variable.c_str()); value != nullptr) {
    Add(command_, text, value);
  }
  return absl::OkStatus();
}

absl::Status CommandOptions::SetUser(absl::string_view text) {
  uint32_t id = 0;
  if (!absl::SimpleAtoi(text, &id) || id < kMinUserId || id > kMaxUserId) {
    return absl::InvalidArgumentError(
        absl::StrCat("allowed is ", kMinUserId, " to ", kMaxUserId));
  }
  command_.set_user_id(id);
  return absl::OkStatus();
}

void CommandOptions::AddTo(OptionTable& table) {
  table.Text('C', "cwd", "DIR",
             "Where the command starts. Default: the current directory, if it\n"
             "is in the workspace, else the workspace.",
             cwd_);
  table.Value(
      'e', "env", "NAME[=VALUE]",
      "Set a variable; without a value, pass on the one of this\n"
      "environment. May be repeated.",
      [this](absl::string_view value) { return AddEnvironment(value); });
  table.Value(0, "user", "ID",
              "Run as this user of the sandbox, 1001 to 59999, apart from the\n"
              "commands of other users: no signals, no tracing, own files in\n"
              "/tmp. It has no home and makes no files in the workspace.",
              [this](absl::string_view value) { return SetUser(value); });
  AddTimesTo(table);
  table.Flag('t', "tty",
             "Give the command a terminal. Default: if standard input and\n"
             "output are one.",
             tty_);
  table.Flag('T', "no-tty", "Give the command pipes.", no_tty_);
  table.Flag(0, "trace",
             "When the command has ended, print where the time went, in\n"
             "microseconds, to standard error. With --detach: corral wait\n"
             "--json has it.",
             trace_);
  table.Flag('i', "interactive",
             "Has no effect without --detach: input is always passed on.",
             interactive_);
  AddOutputTo(table);
}

void CommandOptions::AddTimesTo(OptionTable& table) {
  table.Value(0, "timeout", "TIME", "End the command after this time: 30s, 5m.",
              [this](absl::string_view value) {
                return SetDuration(value, kTimeoutRange,
                                   *command_.mutable_wall_timeout());
              });
  table.Value(0, "cpu-timeout", "TIME",
              "End the command when it and its descendants have used this\n"
              "CPU time.",
              [this](absl::string_view value) {
                return SetDuration(value, kTimeoutRange,
                                   *command_.mutable_cpu_timeout());
              });
  table.Value(
      0, "drain", "TIME",
      "How long to wait, after the command's end, for descendants that\n"
      "still hold its output open. Default: 2s.",
      [this](absl::string_view value) {
        return SetDuration(value, kDrain, *command_.mutable_drain_timeout());
      });
}

void CommandOptions::AddOutputTo(OptionTable& table) {
  table.Value(0, "keep", "SIZE",
              "How much output of each stream the server keeps. Default: 16M,\n"
              "with --detach 64M.",
              [this](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(value));
                command_.mutable_output()->set_retain_bytes(bytes);
                return bytes < kMinRetainBytes || bytes > kMaxRetainBytes
                           ? absl::InvalidArgumentError("allowed is 64K to 1T")
                           : absl::OkStatus();
              });
  table.Value(
      0, "overflow", "POLICY",
      "What happens to output beyond --keep: drop-oldest (default with\n"
      "--detach), head-and-tail, kill, or block (default: the command\n"
      "waits until corral has written its output).",
      [this](absl::string_view value) -> absl::Status {
        ASSIGN_OR_RETURN(const auto overflow, ParseOverflow(value));
        command_.mutable_output()->set_overflow(overflow);
        return absl::OkStatus();
      });
  table.Value(0, "keep-after-end", "TIME",
              "How long output is kept after the command's end. Default: as\n"
              "long as the sandbox.",
              [this](absl::string_view value) {
                return SetDuration(
                    value, kKeepAfterEnd,
                    *command_.mutable_output()->mutable_keep_after_end());
              });
}

absl::StatusOr<std::string> CommandOptions::WorkingDirectory(
    absl::string_view workspace) const {
  if (!cwd_.empty()) {
    absl::StatusOr<std::string> path = AbsolutePath(cwd_);
    if (!path.ok()) {
      return UsageError(absl::StrCat("--cwd ", path.status().message()));
    }
    if (!workspace.empty() && !sandbox::IsWithin(*path, workspace)) {
      return UsageError(absl::StrCat("--cwd \"", cwd_,
                                     "\" is not in the workspace, which is ",
                                     workspace));
    }
    return path;
  }
  ASSIGN_OR_RETURN(std::string current, CurrentDirectory());
  return !workspace.empty() && sandbox::IsWithin(current, workspace) ? current
                                                                     : "";
}

void CommandOptions::Attach(corral::v1::Command& command) const {
  OutputPolicy& output = *command.mutable_output();
  if (!output.has_retain_bytes()) {
    output.set_retain_bytes(kRetainBytes);
  }
  if (output.overflow() == OutputPolicy::OVERFLOW_UNSPECIFIED) {
    output.set_overflow(OutputPolicy::BLOCK);
  }
  if (tty_ || (!no_tty_ && IsInteractive())) {
    *command.mutable_terminal() = GetTerminalSize();
    const char* term = std::getenv("TERM");
    if (term != nullptr && !Has(command, "TERM")) {
      Add(command, "TERM", term);
    }
  } else {
    command.set_stdin(HasInput());
  }
}

absl::StatusOr<corral::v1::Command> CommandOptions::Build(
    const std::vector<std::string>& argv, absl::string_view workspace,
    Io io) const {
  if (argv.empty() || argv[0].empty()) {
    return UsageError("no command is given");
  }
  if (tty_ && no_tty_) {
    return UsageError("--tty and --no-tty exclude each other");
  }
  if (interactive_ && io == Io::kDetached && !tty_) {
    return UsageError(
        "--interactive does not go with --detach: a command without a terminal "
        "has no input then; add --tty and use corral attach");
  }
  corral::v1::Command command = command_;
  command.set_trace(trace_);
  for (const std::string& argument : argv) {
    command.add_argv(argument);
  }
  ASSIGN_OR_RETURN(*command.mutable_working_directory(),
                   WorkingDirectory(workspace));
  switch (io) {
    case Io::kAttached:
      Attach(command);
      break;
    case Io::kDetached:
      if (tty_) {
        *command.mutable_terminal() = GetTerminalSize();
      }
      break;
  }
  return command;
}

}  // namespace bridge
