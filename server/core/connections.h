// The open connections to servers in one sandbox: bounds their number, and ends
// them with the sandbox.
//
// Thread-safe; nothing here blocks.

#ifndef SERVER_CORE_CONNECTIONS_H_
#define SERVER_CORE_CONNECTIONS_H_

#include <cstddef>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "sandbox/base/mutex.h"
#include "server/runtime/activity.h"

namespace server {

class Connections {
 public:
  static constexpr size_t kMost = 1024;

  // Adds a call that EndAll() ends, until Remove(). Fails, and adds nothing,
  // with TOO_MANY_CONNECTIONS or, after EndAll(), with its error.
  absl::Status Add(LastingCall* call, std::weak_ptr<LastingCall> owner);
  void Remove(LastingCall* call);

  // Ends all calls, and refuses those that come later.
  void EndAll(const absl::Status& why);

 private:
  sandbox::Mutex mutex_;
  std::map<LastingCall*, std::weak_ptr<LastingCall>> calls_
      ABSL_GUARDED_BY(mutex_);
  // OK before EndAll().
  absl::Status ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_CORE_CONNECTIONS_H_
