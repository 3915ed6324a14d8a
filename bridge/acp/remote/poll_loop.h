#ifndef BRIDGE_ACP_REMOTE_POLL_LOOP_H_
#define BRIDGE_ACP_REMOTE_POLL_LOOP_H_

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {

// Runs the whole bridge on one thread: descriptors, timers and actions that
// other threads post. Every method but Post() is for that thread.
class PollLoop {
 public:
  using Action = absl::AnyInvocable<void()>;

  PollLoop();
  // Call it when no thread posts any more. Drops actions that did not run.
  ~PollLoop();

  // Runs `action` on the loop's thread, in the order of the calls. May be
  // called from any thread.
  void Post(Action action);

  // Returns the number of posted actions that wait.
  size_t posted() const;

  // Runs `action` after at least `delay`.
  void After(absl::Duration delay, Action action);

  // Waits until a descriptor has an event, a timer is due or an action was
  // posted. Fills `revents`, and runs posted actions and due timers.
  void RunOnce(std::vector<pollfd>& descriptors);

 private:
  using Clock = std::chrono::steady_clock;

  void RunPosted();
  void RunTimers();
  timespec UntilNextTimer() const;

  const sandbox::UniqueFd wake_;  // an eventfd
  // The key is the time of the monotonic clock when the timer is due.
  std::multimap<Clock::time_point, Action> timers_;
  mutable sandbox::Mutex mutex_;
  std::vector<Action> posted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace bridge

#endif  // BRIDGE_ACP_REMOTE_POLL_LOOP_H_
