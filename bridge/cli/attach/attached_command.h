// Runs commands whose input, output, signals and terminal are those of this
// process.

#ifndef BRIDGE_CLI_ATTACH_ATTACHED_COMMAND_H_
#define BRIDGE_CLI_ATTACH_ATTACHED_COMMAND_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bridge/cli/attach/detach_keys.h"
#include "bridge/client/connection.h"
#include "corral/v1/execution_service.pb.h"

namespace bridge {

// Both functions return the exit status for a shell; 0 if the user detached,
// and the command goes on. One of them may be called, once in a process:
// signals sent to this process go to the command from then on.

// Runs the command to its end. The request's command must be one that
// CommandOptions built. Afterwards deletes what the request made: the sandbox,
// or in a sandbox that existed the execution and whatever it left running.
// Keeps the execution if its output could not be written here. `opened` gets
// the name of the execution when it is known, perhaps several times.
absl::StatusOr<int> RunAttached(
    client::Connection& connection,
    const corral::v1::RunExecutionRequest& request,
    const DetachKeys& detach_keys,
    std::function<void(const std::string& name)> opened =
        [](const std::string&) {});

// Shows the output of a command that was started before, and follows it to its
// end. `from` is the first byte to show, for a command with one stream only;
// without a value: all that is kept.
absl::StatusOr<int> AttachTo(client::Connection& connection,
                             const std::string& name,
                             std::optional<uint64_t> from,
                             const DetachKeys& detach_keys);

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_ATTACHED_COMMAND_H_
