// Commands whose input, output, signals and terminal are this process's own.

#ifndef BRIDGE_CLI_ATTACHED_COMMAND_H_
#define BRIDGE_CLI_ATTACHED_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bridge/cli/detach_keys.h"
#include "bridge/client/connection.h"
#include "corral/v1/execution_service.pb.h"

namespace bridge {

// Both return the exit status for a shell; 0 if the command was left, and goes
// on. To be called once in a process: signals of this process go to the command
// from then on.

// Runs it to its end. The command must be as CommandOptions builds it. If it
// has a sandbox of its own, that is deleted then.
absl::StatusOr<int> RunAttached(client::Connection& connection,
                                const corral::v1::RunExecutionRequest& request,
                                const DetachKeys& detach_keys);

// Shows the output of a command that was started before, from `from` on (of one
// stream only; empty: all that is kept), and follows it to its end.
absl::StatusOr<int> AttachTo(client::Connection& connection,
                             const std::string& name,
                             std::optional<uint64_t> from,
                             const DetachKeys& detach_keys);

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACHED_COMMAND_H_
