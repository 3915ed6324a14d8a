#ifndef BRIDGE_GATE_GATED_COMMAND_H_
#define BRIDGE_GATE_GATED_COMMAND_H_

#include <string>
#include <utility>
#include <vector>

namespace bridge {

// A command that an agent wants to run, as it would be executed.
struct GatedCommand {
  std::string session_id;
  std::vector<std::string> argv;
  // Added by the agent to the sandbox's own variables.
  std::vector<std::pair<std::string, std::string>> environment;
  // Absolute. Empty: not known; then a rule with a working_directory matches
  // unless it allows.
  std::string directory;
};

}  // namespace bridge

#endif  // BRIDGE_GATE_GATED_COMMAND_H_
