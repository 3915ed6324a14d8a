// Knows if records and output can be written, as the server itself and each
// supervisor last reported.
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
  // The name under which the health service reports it.
  static constexpr char kService[] = "corral.v1.Storage";

  // Records whether `who`, the server or a sandbox, can write. An empty
  // `failure` means that it can.
  void Set(const std::string& who, const std::string& failure);

  // Returns one of the failures. Empty: everybody can write.
  std::string failure() const;

  // Calls `watcher` now, and whenever the state changes between good and bad.
  // The watcher is called with a lock held and must not call this object. It
  // replaces an earlier watcher, which a null `watcher` only removes.
  void Watch(std::function<void(bool good)> watcher);

 private:
  mutable sandbox::Mutex mutex_;
  // The failures of those that cannot write, by name.
  std::map<std::string, std::string> failures_ ABSL_GUARDED_BY(mutex_);
  std::function<void(bool good)> watcher_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_CORE_STORAGE_HEALTH_H_
