// A command whose input, output, signals and terminal are this process's own.

#ifndef BRIDGE_CLI_ATTACHED_COMMAND_H_
#define BRIDGE_CLI_ATTACHED_COMMAND_H_

#include "absl/status/statusor.h"
#include "bridge/client/connection.h"
#include "corral/v1/execution.pb.h"

namespace bridge {

// Runs it to its end and returns the exit status for a shell. The command must
// be as CommandOptions builds it. To be called once in a process: signals of
// this process go to the command from then on.
absl::StatusOr<int> RunAttached(client::Connection& connection,
                                const corral::v1::RunExecutionRequest& request);

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACHED_COMMAND_H_
