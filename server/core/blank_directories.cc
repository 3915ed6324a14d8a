#include "server/core/blank_directories.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/api/ids.h"
#include "server/core/directories.h"

namespace server {
namespace {

using sandbox::MutexLock;

absl::StatusOr<std::string> Make(const std::string& parent) {
  std::string path = absl::StrCat(parent, "/.blank-", MakeId());
  for (const std::string& directory : {path, path + "/executions"}) {
    if (::mkdir(directory.c_str(), 0700) != 0) {
      const absl::Status failed =
          absl::ErrnoToStatus(errno, absl::StrCat("mkdir(", directory, ")"));
      RemoveTree(path).IgnoreError();
      return failed;
    }
  }
  return path;
}

}  // namespace

absl::StatusOr<std::string> BlankDirectories::Take() {
  {
    MutexLock lock(&mutex_);
    if (!made_.empty()) {
      std::string path = std::move(made_.back());
      made_.pop_back();
      return path;
    }
  }
  return Make(parent_);
}

bool BlankDirectories::Lacks() const {
  MutexLock lock(&mutex_);
  return made_.size() < wanted_;
}

bool BlankDirectories::Keep(const std::string& path) {
  {
    MutexLock lock(&mutex_);
    if (made_.size() < wanted_) {
      made_.push_back(path);
      return true;
    }
  }
  RemoveTree(path).IgnoreError();
  return false;
}

void BlankDirectories::Refill() {
  while (Lacks()) {
    const absl::StatusOr<std::string> made = Make(parent_);
    if (!made.ok() || !Keep(*made)) {
      return;
    }
  }
}

void BlankDirectories::RemoveAll() {
  std::vector<std::string> unused;
  {
    MutexLock lock(&mutex_);
    wanted_ = 0;
    unused.swap(made_);
  }
  for (const std::string& path : unused) {
    RemoveTree(path).IgnoreError();
  }
}

}  // namespace server
