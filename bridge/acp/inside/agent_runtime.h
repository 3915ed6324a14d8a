// Which directories of this machine a program needs, besides those that every
// sandbox has.

#ifndef BRIDGE_ACP_INSIDE_AGENT_RUNTIME_H_
#define BRIDGE_ACP_INSIDE_AGENT_RUNTIME_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bridge {

struct AgentRuntime {
  // Where the program is, without a link among its directories.
  std::string program;
  // Directories without links, none inside of another one, sorted. All lie
  // outside of /usr and of `known`.
  std::vector<std::string> directories;
  // Directories to search for programs before those of the sandbox.
  std::vector<std::string> path;
};

struct Surroundings {
  // PATH
  std::string path;
  // HOME; may be empty.
  std::string home;
  // Relative paths begin here.
  std::string directory;
  // Directories that the sandbox sees anyway, without links.
  std::vector<std::string> known;
};

// Follows the links of the program and the interpreters of its first line. The
// tree of its installation belongs to it: node_modules, the prefix around a bin
// directory, or else the directory itself. Of directories that hold much else
// too, such as ~/.local and ~/.cargo, it is the bin directory alone. NotFound:
// no such program. FailedPrecondition: it lies in a directory that is too large
// to be shown, such as the home directory itself.
absl::StatusOr<AgentRuntime> FindRuntime(const std::string& program,
                                         const Surroundings& surroundings);

}  // namespace bridge

#endif  // BRIDGE_ACP_INSIDE_AGENT_RUNTIME_H_
