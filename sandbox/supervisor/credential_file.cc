#include "sandbox/supervisor/credential_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "sandbox/base/paths.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {
namespace {

// The path without links; nothing if there is no such file.
std::optional<std::string> RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr) {
    return std::nullopt;
  }
  return resolved;
}

}  // namespace

absl::StatusOr<std::string> CheckCredential(absl::string_view bytes) {
  if (absl::ConsumeSuffix(&bytes, "\n")) {
    absl::ConsumeSuffix(&bytes, "\r");
  }
  if (bytes.empty()) {
    return absl::InvalidArgumentError("the credential is empty");
  }
  if (bytes.size() > kMaxCredential) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the credential has more than ", kMaxCredential, " bytes"));
  }
  if (!std::all_of(bytes.begin(), bytes.end(),
                   [](unsigned char c) { return absl::ascii_isprint(c); })) {
    return absl::InvalidArgumentError(
        "the credential must be one line of printable ASCII characters");
  }
  return std::string(bytes);
}

absl::Status CheckIsUnseen(const std::string& path,
                           const std::vector<std::string>& seen) {
  const std::optional<std::string> real = RealPath(path);
  for (const std::string& directory : seen) {
    const std::string real_directory = RealPath(directory).value_or(directory);
    if (real.has_value() && IsWithin(*real, real_directory)) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " leads to ", *real,
                       ", which commands of the sandbox see: ", directory));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadCredentialFile(
    const std::string& path, const std::vector<std::string>& seen) {
  // A pipe would block the caller.
  const UniqueFd file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  }
  struct stat status;
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " must be a regular file"));
  }
  RETURN_IF_ERROR(
      CheckIsUnseen(absl::StrCat("/proc/self/fd/", file.get()), seen));
  // Two bytes more for the end of a line, and one that shows that the file is
  // too long.
  std::string bytes(kMaxCredential + 3, '\0');
  const ssize_t got = ::read(file.get(), &bytes[0], bytes.size());
  if (got < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("read ", path));
  }
  bytes.resize(static_cast<size_t>(got));
  absl::StatusOr<std::string> value = CheckCredential(bytes);
  if (!value.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", value.status().message()));
  }
  return value;
}

}  // namespace sandbox
