#include "bridge/options/working_directory.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

std::vector<absl::string_view> Components(absl::string_view path) {
  std::vector<absl::string_view> parts =
      absl::StrSplit(path, '/', absl::SkipEmpty());
  parts.erase(std::remove(parts.begin(), parts.end(), "."), parts.end());
  return parts;
}

bool HasParent(const std::vector<absl::string_view>& parts) {
  return std::find(parts.begin(), parts.end(), "..") != parts.end();
}

}  // namespace

absl::StatusOr<std::string> CurrentDirectory() {
  char directory[PATH_MAX];
  if (::getcwd(directory, sizeof directory) == nullptr) {
    return absl::ErrnoToStatus(errno, "the current directory");
  }
  return std::string(directory);
}

absl::StatusOr<std::string> AbsolutePath(absl::string_view path) {
  std::string absolute(path);
  if (!absl::StartsWith(path, "/")) {
    ASSIGN_OR_RETURN(const std::string base, CurrentDirectory());
    absolute = absl::StrCat(base, "/", path);
  }
  char resolved[PATH_MAX];
  if (::realpath(absolute.c_str(), resolved) != nullptr) {
    return std::string(resolved);
  }
  const absl::Status missing = absl::ErrnoToStatus(errno, path);
  const std::vector<absl::string_view> parts = Components(absolute);
  if (HasParent(parts)) {
    return missing;
  }
  return absl::StrCat("/", absl::StrJoin(parts, "/"));
}

}  // namespace bridge
