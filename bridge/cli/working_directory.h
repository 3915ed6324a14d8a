// Directories as the caller names them.

#ifndef BRIDGE_CLI_WORKING_DIRECTORY_H_
#define BRIDGE_CLI_WORKING_DIRECTORY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

// $PWD if it names the current directory, as shells have it, since that is the
// name that the caller knows; else the one without symbolic links.
absl::StatusOr<std::string> CurrentDirectory();

// Absolute, without "." and "..", without a slash at the end. Only to take
// away a ".." symbolic links are followed; then the path must exist.
absl::StatusOr<std::string> AbsolutePath(absl::string_view path);

// Whether `path` is `directory` or below it; both as AbsolutePath() has them.
bool IsWithin(absl::string_view path, absl::string_view directory);

}  // namespace bridge

#endif  // BRIDGE_CLI_WORKING_DIRECTORY_H_
