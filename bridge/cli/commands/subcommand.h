// The commands of the command line. Each parses its own words and returns the
// exit status; an error is printed by main: 2 for a usage error, else 125.

#ifndef BRIDGE_CLI_COMMANDS_SUBCOMMAND_H_
#define BRIDGE_CLI_COMMANDS_SUBCOMMAND_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bridge/cli/attach/detach_keys.h"
#include "bridge/cli/option_table.h"
#include "bridge/client/connection.h"
#include "corral/v1/execution.pb.h"

namespace bridge {

struct Invocation {
  // What the options before the command's name say.
  client::ConnectOptions server;
  std::vector<std::string> words;
};

absl::StatusOr<int> Run(Invocation invocation);
absl::StatusOr<int> Create(Invocation invocation);
absl::StatusOr<int> Exec(Invocation invocation);
absl::StatusOr<int> Attach(Invocation invocation);
absl::StatusOr<int> Ps(Invocation invocation);
absl::StatusOr<int> Logs(Invocation invocation);
absl::StatusOr<int> Wait(Invocation invocation);
absl::StatusOr<int> Kill(Invocation invocation);
absl::StatusOr<int> Remove(Invocation invocation);
absl::StatusOr<int> Info(Invocation invocation);

// What they share.

// --server and the TLS files, which every command takes.
void AddServerOptions(OptionTable& table, client::ConnectOptions& options);

// --detach-keys, ctrl-p,ctrl-q if not given.
void AddDetachKeys(OptionTable& table, DetachKeys& keys);

// Starts a command in a sandbox that exists, and prints its name, or with
// `json` all of it.
absl::StatusOr<int> StartDetached(client::Connection& connection,
                                  const std::string& sandbox_name,
                                  const corral::v1::Command& command,
                                  bool json);

// The full name; a usage error if it is none.
absl::StatusOr<std::string> SandboxArgument(const std::string& word);
absl::StatusOr<std::string> ExecutionArgument(const std::string& word);

// Parse the words of a command on what exists, with the options of `table` and
// the server's: one full name or more, each as `parse` has it, or the one of an
// execution. Empty: they ask for help, which was printed.
absl::StatusOr<std::vector<std::string>> ParseNames(
    OptionTable& table, Invocation& invocation,
    absl::StatusOr<std::string> (*parse)(const std::string& word));
absl::StatusOr<std::optional<std::string>> ParseExecution(
    OptionTable& table, Invocation& invocation);

// Prints to standard output. Exit status 0.
absl::StatusOr<int> Print(const std::string& text);

// One line of JSON with the field names of the .proto files.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_SUBCOMMAND_H_
