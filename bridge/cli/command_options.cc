#include "bridge/cli/command_options.h"

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bridge/cli/quantity.h"
#include "bridge/cli/terminal.h"
#include "bridge/cli/working_directory.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

// Output that this process has not written yet; the command waits above it.
constexpr uint64_t kRetainBytes = 16 << 20;

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

void CommandOptions::AddTo(OptionTable& table) {
  table.Text('C', "cwd", "DIR",
             "Where the command starts. Default: the current directory, if it\n"
             "is in the workspace, else the workspace.",
             cwd_);
  table.Value(
      'e', "env", "NAME[=VALUE]",
      "Set a variable, or pass on that of this environment. Repeatable.",
      [this](absl::string_view value) { return AddEnvironment(value); });
  table.Value(0, "timeout", "TIME", "End the command after this time: 30s, 5m.",
              [this](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(const absl::Duration timeout,
                                 ParseDuration(value));
                if (timeout < absl::Milliseconds(1) ||
                    timeout > absl::Hours(365 * 24)) {
                  return absl::InvalidArgumentError("allowed is 1ms to 365d");
                }
                auto& duration = *command_.mutable_wall_timeout();
                const timespec parts = absl::ToTimespec(timeout);
                duration.set_seconds(parts.tv_sec);
                duration.set_nanos(static_cast<int32_t>(parts.tv_nsec));
                return absl::OkStatus();
              });
  table.Flag('t', "tty",
             "Give the command a terminal. Default: if standard input and\n"
             "output are one.",
             tty_);
  table.Flag('T', "no-tty", "Give it pipes.", no_tty_);
}

absl::StatusOr<std::string> CommandOptions::WorkingDirectory(
    absl::string_view workspace) const {
  if (!cwd_.empty()) {
    ASSIGN_OR_RETURN(std::string path, AbsolutePath(cwd_));
    if (!workspace.empty() && !IsWithin(path, workspace)) {
      return UsageError(absl::StrCat("--cwd \"", cwd_,
                                     "\": allowed is the workspace, ",
                                     workspace, ", and what is below it"));
    }
    return path;
  }
  ASSIGN_OR_RETURN(std::string current, CurrentDirectory());
  return !workspace.empty() && IsWithin(current, workspace) ? current : "";
}

void CommandOptions::Attach(corral::v1::Command& command) const {
  command.mutable_output()->set_retain_bytes(kRetainBytes);
  command.mutable_output()->set_overflow(corral::v1::OutputPolicy::BLOCK);
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
    bool attached) const {
  if (argv.empty() || argv[0].empty()) {
    return UsageError("no command is given");
  }
  if (tty_ && no_tty_) {
    return UsageError("--tty and --no-tty exclude each other");
  }
  corral::v1::Command command = command_;
  for (const std::string& argument : argv) {
    command.add_argv(argument);
  }
  ASSIGN_OR_RETURN(*command.mutable_working_directory(),
                   WorkingDirectory(workspace));
  if (attached) {
    Attach(command);
  } else if (tty_) {
    *command.mutable_terminal() = GetTerminalSize();
  }
  return command;
}

}  // namespace bridge
