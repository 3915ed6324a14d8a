// The commands of the command line.
//
// Each parses its own words and returns the exit status. main() prints an
// error; its exit status is then 2 for wrong usage, else 125.

#ifndef BRIDGE_CLI_COMMANDS_COMMANDS_H_
#define BRIDGE_CLI_COMMANDS_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bridge/client/connection.h"

namespace bridge {

struct Invocation {
  // From the options before the command's name.
  client::ConnectOptions server;
  // The words after the command's name.
  std::vector<std::string> words;
};

absl::StatusOr<int> Run(Invocation invocation);
absl::StatusOr<int> Create(Invocation invocation);
absl::StatusOr<int> Exec(Invocation invocation);
absl::StatusOr<int> Attach(Invocation invocation);
absl::StatusOr<int> Ps(Invocation invocation);
absl::StatusOr<int> Allow(Invocation invocation);
absl::StatusOr<int> Logs(Invocation invocation);
absl::StatusOr<int> Screen(Invocation invocation);
absl::StatusOr<int> Record(Invocation invocation);
absl::StatusOr<int> Wait(Invocation invocation);
absl::StatusOr<int> Kill(Invocation invocation);
absl::StatusOr<int> Remove(Invocation invocation);
absl::StatusOr<int> Prune(Invocation invocation);
absl::StatusOr<int> PortForward(Invocation invocation);
absl::StatusOr<int> Info(Invocation invocation);

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_COMMANDS_H_
