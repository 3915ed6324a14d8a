#include "server/core/blank_directories.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/unique_fd.h"
#include "server/api/ids.h"
#include "server/core/directories.h"

namespace server {
namespace {

using sandbox::MutexLock;
using sandbox::UniqueFd;

// Makes the directory `path` with what is in it.
absl::Status Fill(const std::string& path, const std::string& description) {
  for (const std::string& directory : {path, path + "/executions"}) {
    if (::mkdir(directory.c_str(), 0700) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("mkdir(", directory, ")"));
    }
  }
  const std::string file = absl::StrCat(path, "/", description);
  const UniqueFd made(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  return made.valid()
             ? absl::OkStatus()
             : absl::ErrnoToStatus(errno, absl::StrCat("open(", file, ")"));
}

}  // namespace

absl::StatusOr<std::string> BlankDirectories::Make() const {
  std::string path = absl::StrCat(parent_, "/.blank-", MakeId());
  const absl::Status filled = Fill(path, description_);
  if (!filled.ok()) {
    RemoveTree(path).IgnoreError();
    return filled;
  }
  return path;
}

absl::StatusOr<std::string> BlankDirectories::Take() {
  {
    MutexLock lock(&mutex_);
    if (!made_.empty()) {
      std::string path = std::move(made_.back());
      made_.pop_back();
      return path;
    }
  }
  return Make();
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
    const absl::StatusOr<std::string> made = Make();
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
