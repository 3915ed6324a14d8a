// The value of a service's header: what it may be, and how it is read from a
// file of the operator.

#ifndef SANDBOX_SUPERVISOR_CREDENTIAL_FILE_H_
#define SANDBOX_SUPERVISOR_CREDENTIAL_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandbox {

inline constexpr size_t kMaxCredential = 16 << 10;

// Returns the bytes without a newline at their end. Fails with InvalidArgument
// if they are empty, too long, or no line of printable ASCII characters. No
// error of this file holds the bytes.
absl::StatusOr<std::string> CheckCredential(absl::string_view bytes);

// Reads the value from a regular file. `seen`: the directories of the host that
// commands of the sandbox see; FailedPrecondition: links lead the path into one
// of them. Blocks on the disk.
absl::StatusOr<std::string> ReadCredentialFile(
    const std::string& path, const std::vector<std::string>& seen);

// Fails with FailedPrecondition if `path` exists and leads into one of `seen`.
absl::Status CheckIsUnseen(const std::string& path,
                           const std::vector<std::string>& seen);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CREDENTIAL_FILE_H_
