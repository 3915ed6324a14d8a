// Finds the directories of this machine that a program needs, besides those
// that every sandbox has.

#ifndef BRIDGE_ACP_INSIDE_AGENT_RUNTIME_H_
#define BRIDGE_ACP_INSIDE_AGENT_RUNTIME_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bridge {

struct AgentRuntime {
  // The path of the program, without a link among its directories.
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
  // $HOME; may be empty.
  std::string home;
  // Relative paths begin here.
  std::string directory;
  // Directories that the sandbox sees anyway, without links.
  std::vector<std::string> known;
};

// Follows the links of the program and the interpreters of its first line. A
// program needs the tree of its installation: node_modules, the prefix around a
// bin directory, or else the directory of the file. From directories with other
// content, such as ~/.local and ~/.cargo, it needs the bin directory alone.
// Fails with NotFound if there is no such program, and with FailedPrecondition
// if it lies in a directory that no sandbox may see as a whole, such as the
// home directory.
absl::StatusOr<AgentRuntime> FindRuntime(const std::string& program,
                                         const Surroundings& surroundings);

}  // namespace bridge

#endif  // BRIDGE_ACP_INSIDE_AGENT_RUNTIME_H_
