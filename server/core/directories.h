// Lists and removes directories of the server's files.
//
// A removal renames the directory to ".removed-<name>" first. That is no id, so
// after a crash nobody mistakes half a directory for a sandbox or an execution,
// and the next server removes the rest.
//
// Thread-safe. Everything blocks on the disk, except RemovedPath() and
// IsBeingRemoved().

#ifndef SERVER_CORE_DIRECTORIES_H_
#define SERVER_CORE_DIRECTORIES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace server {

// Returns the names of all entries, or an error.
absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path);

// Returns the path that a directory gets when its removal begins. A path of
// that kind stays as it is.
std::string RemovedPath(const std::string& path);
bool IsBeingRemoved(absl::string_view name);

// Renames `path` to RemovedPath(path), after removing what an earlier removal
// left there. OK if `path` does not exist.
absl::Status BeginRemoval(const std::string& path);

// Removes a file, or a directory and everything below it. OK if `path` does not
// exist.
absl::Status RemoveTree(const std::string& path);

// BeginRemoval() and then RemoveTree(). May be repeated after an error.
absl::Status RemoveDirectory(const std::string& path);

}  // namespace server

#endif  // SERVER_CORE_DIRECTORIES_H_
