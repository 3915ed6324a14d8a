// Commands that are started and left running.

#ifndef BRIDGE_CLI_COMMANDS_DETACHED_COMMAND_H_
#define BRIDGE_CLI_COMMANDS_DETACHED_COMMAND_H_

#include "absl/status/statusor.h"
#include "bridge/client/connection.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

enum class DetachedOutput { kName, kJson };

// Both functions start a command and print the execution's name, or all of it
// as JSON. Exit status: 0; if the command failed to start, the same as if it
// was attached (126, 127, 125), with the reason on standard error.

// Starts the command in a sandbox that exists. Fills in the request id. An
// execution that failed to start is deleted.
absl::StatusOr<int> StartDetached(
    client::Connection& connection,
    const corral::v1::StartExecutionRequest& request, DetachedOutput output);

// Starts it in a new sandbox, which stays, but is deleted if the command did
// not start. Fills in the request ids, and the parent of `request`.
absl::StatusOr<int> StartDetachedInNewSandbox(
    client::Connection& connection,
    const corral::v1::CreateSandboxRequest& creation,
    const corral::v1::StartExecutionRequest& request);

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_DETACHED_COMMAND_H_
