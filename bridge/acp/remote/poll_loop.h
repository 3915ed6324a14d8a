#ifndef BRIDGE_ACP_REMOTE_POLL_LOOP_H_
#define BRIDGE_ACP_REMOTE_POLL_LOOP_H_

#include <poll.h>

#include <map>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

// The one thread on which the whole bridge runs: descriptors, timers and what
// other threads hand over. Everything but Post() is for that thread.
class PollLoop {
 public:
  using Action = absl::AnyInvocable<void()>;

  PollLoop();
  // Nobody may post any more. Actions that did not run are dropped.
  ~PollLoop();

  // Runs `action` on the loop's thread, in the order of the calls. Any thread.
  void Post(Action action);

  // Runs `action` after at least `delay`.
  void After(absl::Duration delay, Action action);

  // Waits until one of the descriptors has an event, a timer is due or
  // something was posted; then fills `revents` and runs what is due.
  void RunOnce(std::vector<pollfd>& descriptors);

 private:
  void RunPosted();
  void RunTimers();
  timespec UntilNextTimer() const;

  const sandbox::UniqueFd wake_;  // an eventfd
  std::multimap<absl::Time, Action> timers_;
  sandbox::Mutex mutex_;
  std::vector<Action> posted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace bridge

#endif  // BRIDGE_ACP_REMOTE_POLL_LOOP_H_
