#include "server/core/directories.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/status_macros.h"

namespace server {
namespace {

// No id begins with a dot.
constexpr char kRemoved[] = ".removed-";

absl::Status Failed(const std::error_code& error, absl::string_view what,
                    absl::string_view path) {
  return absl::ErrnoToStatus(error.value(), absl::StrCat(what, "(", path, ")"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListDirectory(
    const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end;
       !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) {
    return Failed(error, "list", path);
  }
  return names;
}

bool IsBeingRemoved(absl::string_view name) {
  return absl::StartsWith(name, kRemoved);
}

std::string RemovedPath(const std::string& path) {
  const size_t name = path.rfind('/') + 1;
  return IsBeingRemoved(path.substr(name))
             ? path
             : absl::StrCat(path.substr(0, name), kRemoved, path.substr(name));
}

absl::Status BeginRemoval(const std::string& path) {
  const std::string removed = RemovedPath(path);
  if (path == removed || std::rename(path.c_str(), removed.c_str()) == 0 ||
      errno == ENOENT) {
    return absl::OkStatus();
  }
  if (errno == ENOTEMPTY || errno == EEXIST) {
    RETURN_IF_ERROR(RemoveTree(removed));
    if (std::rename(path.c_str(), removed.c_str()) == 0) {
      return absl::OkStatus();
    }
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("rename(", path, ")"));
}

absl::Status RemoveTree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? Failed(error, "remove", path) : absl::OkStatus();
}

absl::Status RemoveDirectory(const std::string& path) {
  RETURN_IF_ERROR(BeginRemoval(path));
  return RemoveTree(RemovedPath(path));
}

}  // namespace server
