#ifndef BRIDGE_ACP_OPTIONS_H_
#define BRIDGE_ACP_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bridge/acp/bridge.h"
#include "bridge/acp/doctor/doctor.h"
#include "bridge/acp/inside/agent_runtime.h"
#include "bridge/client/published_port.h"
#include "corral/config/v1/agent_profile.pb.h"

namespace bridge {

struct Options {
  enum class Task {
    kBridge,
    kExamine,  // corral-acp doctor
  };
  Task task = Task::kBridge;
  // True if --help was given; the words after it were not parsed.
  bool help = false;
  BridgeOptions bridge;
  // True to offer corral-mcp to the agent.
  bool mcp = false;
  // True if the agent runs in the sandbox of its commands.
  bool agent_in_sandbox = false;
  // States what the agent needs; nullptr if that is not known.
  const corral::config::v1::AgentProfile* profile = nullptr;
  // Variables that it gets there: NAME, from our environment, or NAME=VALUE.
  std::vector<std::string> variables;
  // Ports of its sandbox at which this machine reaches servers there.
  std::vector<client::PublishedPort> published;
  std::vector<std::string> agent;
};

// `arguments` is the command line without the program's name. A relative
// --workspace begins at `directory`. Fails with InvalidArgument if an option is
// unknown, a value or a file is wrong, or no agent is given. With "doctor" as
// the first word, the workspace is `directory` by default, and the agent may be
// missing. It is also the default of an agent in a sandbox.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments,
                                     const std::string& directory);

// For an agent in a sandbox: adds what its program needs to the sandbox that
// the options describe. Fails with NotFound if there is no such program. Other
// errors state why it cannot run in a sandbox.
absl::StatusOr<AgentRuntime> AddRuntime(const std::string& directory,
                                        Options& options);

// Returns hints about the options for a user of an agent in a sandbox: its
// profile, what its program needs, what is lost with the sandbox.
std::vector<std::string> NotesInside(const Options& options,
                                     const AgentRuntime& runtime);

// Returns what `doctor` checks. `runtime`: of an agent in a sandbox.
Checkup ToCheckup(const Options& options,
                  const std::optional<AgentRuntime>& runtime = std::nullopt);

// Returns what --help prints.
std::string HelpText();

}  // namespace bridge

#endif  // BRIDGE_ACP_OPTIONS_H_
