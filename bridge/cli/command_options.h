// The options that say how a command runs: directory, environment,
// terminal, times, and what is kept of its output.

#ifndef BRIDGE_CLI_COMMAND_OPTIONS_H_
#define BRIDGE_CLI_COMMAND_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/cli/option_table.h"
#include "corral/v1/execution.pb.h"

namespace bridge {

class CommandOptions {
 public:
  // The table refers to this object.
  void AddTo(OptionTable& table);

  // After Parse(). `workspace` is the sandbox's, empty if it has none.
  // `attached`: input and output are this process's own, and a terminal if
  // they are one; else there is no input, and nobody needs to read the output.
  absl::StatusOr<corral::v1::Command> Build(
      const std::vector<std::string>& argv, absl::string_view workspace,
      bool attached) const;

 private:
  void AddTimesTo(OptionTable& table);
  void AddOutputTo(OptionTable& table);
  absl::Status AddEnvironment(absl::string_view text);
  absl::StatusOr<std::string> WorkingDirectory(
      absl::string_view workspace) const;
  void Attach(corral::v1::Command& command) const;

  corral::v1::Command command_;
  std::string cwd_;  // empty: the current directory, if it exists inside
  bool tty_ = false;
  bool no_tty_ = false;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMAND_OPTIONS_H_
