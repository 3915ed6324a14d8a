// Directories, under the names that the user knows.

#ifndef BRIDGE_CLI_WORKING_DIRECTORY_H_
#define BRIDGE_CLI_WORKING_DIRECTORY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

// Returns $PWD if it names the current directory, as in shells, because the
// user knows that name; else the name without symbolic links.
absl::StatusOr<std::string> CurrentDirectory();

// Returns the path as an absolute one without "." and "..", and without a slash
// at the end. Follows symbolic links only if the path contains "..", and then
// fails if it does not exist.
absl::StatusOr<std::string> AbsolutePath(absl::string_view path);

// Returns whether `path` is `directory` or below it. Both must be in the form
// that AbsolutePath() returns.
bool IsWithin(absl::string_view path, absl::string_view directory);

}  // namespace bridge

#endif  // BRIDGE_CLI_WORKING_DIRECTORY_H_
