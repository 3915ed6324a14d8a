// Runs functions later. thread_timer_queue.h has the real one,
// tests/fakes/fake_timer_queue.h the one for tests.
//
// Thread-safe. Functions run on one thread, one at a time, and must not block.

#ifndef SERVER_RUNTIME_TIMER_QUEUE_H_
#define SERVER_RUNTIME_TIMER_QUEUE_H_

#include <chrono>
#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace server {

class TimerQueue {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // Never 0.
  using Id = uint64_t;

  virtual ~TimerQueue() = default;

  virtual TimePoint Now() const = 0;

  // Runs `function` once, `delay` from now.
  virtual Id RunAfter(absl::Duration delay,
                      absl::AnyInvocable<void()> function) = 0;

  // Drops the function, unless it has begun to run. Does not wait for it. An
  // unknown id has no effect.
  virtual void Cancel(Id id) = 0;
};

}  // namespace server

#endif  // SERVER_RUNTIME_TIMER_QUEUE_H_
