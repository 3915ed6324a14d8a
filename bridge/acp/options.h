#ifndef BRIDGE_ACP_OPTIONS_H_
#define BRIDGE_ACP_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bridge/acp/bridge.h"
#include "bridge/acp/doctor/doctor.h"

namespace bridge {

struct Options {
  enum class Task {
    kBridge,
    kExamine,  // corral-acp doctor
  };
  Task task = Task::kBridge;
  // --help was given; the words after it were not parsed.
  bool help = false;
  BridgeOptions bridge;
  // Offer corral-mcp to the agent.
  bool mcp = false;
  std::vector<std::string> agent;
};

// `arguments` is the command line without the program's name. A relative
// --workspace begins at `directory`. Fails with InvalidArgument if an option is
// unknown, a value or a file is wrong, or no agent is given. With "doctor" as
// the first word, the workspace is `directory` by default, and the agent may be
// missing.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments,
                                     const std::string& directory);

// Returns what `doctor` checks.
Checkup ToCheckup(const Options& options);

// Returns what --help prints.
std::string HelpText();

}  // namespace bridge

#endif  // BRIDGE_ACP_OPTIONS_H_
