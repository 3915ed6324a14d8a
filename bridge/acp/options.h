#ifndef BRIDGE_ACP_OPTIONS_H_
#define BRIDGE_ACP_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bridge/acp/bridge.h"

namespace bridge {

struct Options {
  // Only this is set if help was asked for.
  bool help = false;
  BridgeOptions bridge;
  std::vector<std::string> agent;
};

// The command line without the program's name. InvalidArgument: an unknown
// option, a bad value, or no agent. `directory`: what a relative --workspace is
// below.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments,
                                     const std::string& directory);

// What --help prints.
const char* HelpText();

}  // namespace bridge

#endif  // BRIDGE_ACP_OPTIONS_H_
