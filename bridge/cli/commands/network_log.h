// corral logs --network: the attempts of programs in a sandbox to use the
// network.

#ifndef BRIDGE_CLI_COMMANDS_NETWORK_LOG_H_
#define BRIDGE_CLI_COMMANDS_NETWORK_LOG_H_

#include <string>

#include "absl/status/statusor.h"
#include "bridge/cli/commands/commands.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

struct NetworkLogOptions {
  // True to go on until the sandbox is gone.
  bool follow = false;
  // True to print one JSON object in each line.
  bool json = false;
};

// Prints the events of `sandbox`, a full name. Returns the exit status.
absl::StatusOr<int> PrintNetworkLog(const Invocation& invocation,
                                    const std::string& sandbox,
                                    const NetworkLogOptions& options);

// One line without a newline, with the time in UTC. Characters that a program
// chose cannot control a terminal.
std::string DescribeEvent(const corral::v1::NetworkEvent& event);

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_NETWORK_LOG_H_
