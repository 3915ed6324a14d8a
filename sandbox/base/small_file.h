// Small files that are read and written whole: those of proc and cgroup, and
// records.

#ifndef SANDBOX_BASE_SMALL_FILE_H_
#define SANDBOX_BASE_SMALL_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandbox {

// Reads a whole file. Fails above 8 MiB; the record of the largest command
// takes little more than 4 MiB. The error names the path.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

// Writes into an existing file with one write(2), as files of proc and cgroup
// require.
absl::Status WriteSmallFile(const std::string& path, absl::string_view data);

enum class Durability {
  // After a crash of the process the file has the old content or the new.
  kProcess,
  // The same after a crash of the machine.
  kMachine,
};

// Replaces `path` by a file with this content and mode 0600, which is written
// as `path`.new and renamed. After an error `path`.new may be left.
absl::Status ReplaceFile(const std::string& path, absl::string_view data,
                         Durability durability);

}  // namespace sandbox

#endif  // SANDBOX_BASE_SMALL_FILE_H_
