// The options for how a command runs: directory, environment, terminal, times,
// and how much of its output is kept.

#ifndef BRIDGE_CLI_COMMANDS_COMMAND_OPTIONS_H_
#define BRIDGE_CLI_COMMANDS_COMMAND_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/options/option_table.h"
#include "corral/v1/execution.pb.h"

namespace bridge {

class CommandOptions {
 public:
  // Attached: input and output are those of this process, on a terminal if they
  // are one. Detached: there is no input, and nobody needs to read the output.
  enum class Io { kAttached, kDetached };

  // The table refers to this object.
  void AddTo(OptionTable& table);

  // Call it after Parse(). `workspace` is that of the sandbox; empty if it has
  // none.
  absl::StatusOr<corral::v1::Command> Build(
      const std::vector<std::string>& argv, absl::string_view workspace,
      Io io) const;

 private:
  void AddTimesTo(OptionTable& table);
  void AddOutputTo(OptionTable& table);
  absl::Status AddEnvironment(absl::string_view text);
  absl::Status SetUser(absl::string_view text);
  absl::StatusOr<std::string> WorkingDirectory(
      absl::string_view workspace) const;
  void Attach(corral::v1::Command& command) const;

  corral::v1::Command command_;
  std::string cwd_;  // empty: see WorkingDirectory()
  bool tty_ = false;
  bool no_tty_ = false;
  bool interactive_ = false;
  bool trace_ = false;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_COMMAND_OPTIONS_H_
