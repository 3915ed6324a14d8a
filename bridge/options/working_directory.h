// Directories, by the paths that a server accepts: a workspace's path has no
// symbolic links.

#ifndef BRIDGE_OPTIONS_WORKING_DIRECTORY_H_
#define BRIDGE_OPTIONS_WORKING_DIRECTORY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

// Returns the path of the current directory, without symbolic links.
absl::StatusOr<std::string> CurrentDirectory();

// Returns the path as an absolute one without "." and "..", without symbolic
// links and without a slash at the end. A path that does not exist on this host
// may exist inside a sandbox: it keeps its name, but fails if it contains "..".
absl::StatusOr<std::string> AbsolutePath(absl::string_view path);

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_WORKING_DIRECTORY_H_
