// Calls functions later. EventLoop is the real implementation, FakeTimers
// (tests/fakes) has a clock that a test advances.
//
// Threading: see the implementation.

#ifndef SANDBOX_BASE_TIMERS_H_
#define SANDBOX_BASE_TIMERS_H_

#include <cstdint>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace sandbox {

class Timers {
 public:
  using Function = absl::AnyInvocable<void()>;
  // When the timer is due, in nanoseconds of the implementation's clock, and a
  // number that is never used again. Ids are ordered by the time they are due.
  using TimerId = std::pair<int64_t, uint64_t>;

  // Calls `function` once, `delay` from now. Never before it returns.
  virtual TimerId After(absl::Duration delay, Function function) = 0;
  // Does nothing if the timer ran or was cancelled before.
  virtual void Cancel(TimerId timer) = 0;
  // Returns true if the timer has neither run nor been cancelled, and false
  // while its own function runs.
  virtual bool IsPending(TimerId timer) const = 0;

 protected:
  ~Timers() = default;
};

}  // namespace sandbox

#endif  // SANDBOX_BASE_TIMERS_H_
