#include "server/core/storage_health.h"

#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/log.h"
#include "sandbox/base/mutex.h"

namespace server {

using sandbox::MutexLock;

void StorageHealth::Set(const std::string& who, const std::string& failure) {
  MutexLock lock(&mutex_);
  const bool was_good = failures_.empty();
  const auto found = failures_.find(who);
  if (failure.empty()) {
    if (found == failures_.end()) {
      return;
    }
    failures_.erase(found);
    LOG(INFO) << who << ": writing succeeds again";
  } else {
    if (found == failures_.end()) {
      LOG(ERROR) << who << " cannot write: " << failure;
    }
    failures_[who] = failure;
  }
  if (watcher_ != nullptr && was_good != failures_.empty()) {
    watcher_(failures_.empty());
  }
}

std::string StorageHealth::failure() const {
  MutexLock lock(&mutex_);
  return failures_.empty() ? ""
                           : absl::StrCat(failures_.begin()->first, ": ",
                                          failures_.begin()->second);
}

void StorageHealth::Watch(std::function<void(bool good)> watcher) {
  MutexLock lock(&mutex_);
  watcher_ = std::move(watcher);
  if (watcher_ != nullptr) {
    watcher_(failures_.empty());
  }
}

}  // namespace server
