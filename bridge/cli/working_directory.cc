#include "bridge/cli/working_directory.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

bool IsSameDirectory(const char* a, const char* b) {
  struct stat first;
  struct stat second;
  return ::stat(a, &first) == 0 && ::stat(b, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

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
  const char* pwd = ::getenv("PWD");
  if (pwd != nullptr && pwd[0] == '/' && !HasParent(Components(pwd)) &&
      IsSameDirectory(pwd, ".")) {
    return absl::StrCat("/", absl::StrJoin(Components(pwd), "/"));
  }
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
  const std::vector<absl::string_view> parts = Components(absolute);
  if (!HasParent(parts)) {
    return absl::StrCat("/", absl::StrJoin(parts, "/"));
  }
  char resolved[PATH_MAX];
  if (::realpath(absolute.c_str(), resolved) == nullptr) {
    return absl::ErrnoToStatus(errno, path);
  }
  return std::string(resolved);
}

bool IsWithin(absl::string_view path, absl::string_view directory) {
  return path == directory || directory == "/" ||
         (absl::ConsumePrefix(&path, directory) && absl::StartsWith(path, "/"));
}

}  // namespace bridge
