// Whether what must be kept can be written: by the server itself and by each
// supervisor, as they last said.
//
// Thread-safe; nothing here blocks.

#ifndef SERVER_CORE_STORAGE_HEALTH_H_
#define SERVER_CORE_STORAGE_HEALTH_H_

#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "sandbox/base/mutex.h"

namespace server {

class StorageHealth {
 public:
  // The name of the health service that tells it.
  static constexpr char kService[] = "corral.v1.Storage";

  // Empty `failure`: `who` wrote what it had to.
  void Set(const std::string& who, const std::string& failure);

  // Of one of those that fail; empty: none does.
  std::string failure() const;

  // `watcher` is called now, and when it turns from good to bad or back, with a
  // lock held: it must not come back here. Null: no more.
  void Watch(std::function<void(bool good)> watcher);

 private:
  mutable sandbox::Mutex mutex_;
  std::map<std::string, std::string> failures_ ABSL_GUARDED_BY(mutex_);
  std::function<void(bool good)> watcher_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_CORE_STORAGE_HEALTH_H_
