// Files of the kernel's and records: small, read and written whole.

#ifndef SANDBOX_BASE_SMALL_FILE_H_
#define SANDBOX_BASE_SMALL_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandbox {

// At most 8 MiB: a command of the largest size has a record of little more than
// 4 MiB.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

// Writes into a file that exists, in one write(2): what files of proc and
// cgroup want.
absl::Status WriteSmallFile(const std::string& path, absl::string_view data);

enum class Durability {
  // A crash of the process leaves the old content or the new.
  kProcess,
  // So does a crash of the machine.
  kMachine,
};

// Replaces `path` by a file with this content, mode 0600: written beside it and
// renamed.
absl::Status ReplaceFile(const std::string& path, absl::string_view data,
                         Durability durability);

}  // namespace sandbox

#endif  // SANDBOX_BASE_SMALL_FILE_H_
