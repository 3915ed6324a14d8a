// Events that end the wait of `corral port-forward`, or interrupt it.
//
// Thread-safe.

#ifndef BRIDGE_CLI_COMMANDS_FORWARD_EVENTS_H_
#define BRIDGE_CLI_COMMANDS_FORWARD_EVENTS_H_

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "sandbox/base/mutex.h"

namespace bridge {

class ForwardEvents {
 public:
  enum class Event { kNone, kServerGone, kEnd };

  void OnSignal();
  void OnServerGone();
  // Ends the wait if the sandbox is gone (NotFound).
  void OnFailure(const absl::Status& why);

  // Blocks until there is an event, and takes it; the end stays.
  Event Next();
  bool ended();
  // Why it ended; OK if a signal came.
  absl::Status why();

 private:
  void Set(Event event, const absl::Status& why);

  sandbox::Mutex mutex_;
  Event event_ ABSL_GUARDED_BY(mutex_) = Event::kNone;
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_FORWARD_EVENTS_H_
