// Shared by the commands: options, arguments and output.

#ifndef BRIDGE_CLI_COMMANDS_SUBCOMMAND_H_
#define BRIDGE_CLI_COMMANDS_SUBCOMMAND_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bridge/cli/attach/detach_keys.h"
#include "bridge/cli/commands/commands.h"
#include "bridge/options/option_table.h"

namespace bridge {

// Adds --detach-keys; the default is ctrl-p,ctrl-q.
void AddDetachKeys(OptionTable& table, DetachKeys& keys);

// Returns the full name, or a usage error if `word` is not a name.
absl::StatusOr<std::string> SandboxArgument(const std::string& word);
absl::StatusOr<std::string> ExecutionArgument(const std::string& word);

// Parse the words of a command that takes names, with the options of `table`
// and those of the server. ParseNames() converts each argument with `parse`;
// ParseExecution() takes one execution. They return nothing if help was asked
// for, and print it.
absl::StatusOr<std::vector<std::string>> ParseNames(
    OptionTable& table, Invocation& invocation,
    absl::StatusOr<std::string> (*parse)(const std::string& word));
absl::StatusOr<std::optional<std::string>> ParseExecution(
    OptionTable& table, Invocation& invocation);

// Prints to standard output. Returns the exit status 0.
absl::StatusOr<int> Print(const std::string& text);

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_SUBCOMMAND_H_
