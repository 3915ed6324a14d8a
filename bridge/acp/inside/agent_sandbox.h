// The agent in a sandbox: what the sandbox needs for it, and the command that
// runs it there.

#ifndef BRIDGE_ACP_INSIDE_AGENT_SANDBOX_H_
#define BRIDGE_ACP_INSIDE_AGENT_SANDBOX_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bridge/acp/inside/agent_runtime.h"
#include "bridge/client/connection.h"
#include "bridge/client/published_port.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// Adds read-only mounts of the runtime's directories.
void AddRuntime(const AgentRuntime& runtime, corral::v1::Sandbox& sandbox);

// The directories that the sandbox shows at their own path: its workspace and
// mounts.
std::vector<std::string> ShownDirectories(const corral::v1::Sandbox& sandbox);

// Creates the sandbox, with a lease that a SessionSandbox renews. Returns its
// name. Blocks for as long as the server takes.
absl::StatusOr<std::string> CreateAgentSandbox(
    const client::ConnectOptions& server, corral::v1::Sandbox wanted);

// The variables of an agent there, as `corral exec --env` takes them: PATH,
// with the directories of the runtime, and `variables`.
std::vector<std::string> VariablesInside(
    const AgentRuntime& runtime, const std::vector<std::string>& variables);

// Variables and ports of an agent there.
struct InsideOptions {
  // Each is NAME, with the value of this environment, or NAME=VALUE.
  std::vector<std::string> variables;
  // Published as long as the agent runs.
  std::vector<client::PublishedPort> ports;
};

// The command that runs the agent in the sandbox of that name, with standard
// input, output and error of its own. `corral`: the program and its options.
// `agent` has the words of the agent's command.
std::vector<std::string> CommandInside(const std::vector<std::string>& corral,
                                       const std::string& sandbox,
                                       const AgentRuntime& runtime,
                                       const std::vector<std::string>& agent,
                                       const InsideOptions& options);

}  // namespace bridge

#endif  // BRIDGE_ACP_INSIDE_AGENT_SANDBOX_H_
