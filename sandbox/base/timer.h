// Owns one timer and cancels it when it goes out of scope, so that its function
// never runs after its owner is gone:
//
//   retry_ = Timer(loop, absl::Seconds(1), [this] { Retry(); });
//
// Used on the thread of its `timers` only, which must outlive it.

#ifndef SANDBOX_BASE_TIMER_H_
#define SANDBOX_BASE_TIMER_H_

#include <utility>

#include "absl/time/time.h"
#include "sandbox/base/timers.h"

namespace sandbox {

class Timer {
 public:
  // Makes a timer that is not pending.
  Timer() = default;
  // Calls `function` once, `delay` from now, unless the timer is cancelled,
  // destroyed or assigned to before.
  Timer(Timers* timers, absl::Duration delay, Timers::Function function)
      : timers_(timers), id_(timers->After(delay, std::move(function))) {}
  ~Timer() { Cancel(); }

  Timer(Timer&& other) noexcept
      : timers_(std::exchange(other.timers_, nullptr)),
        id_(std::move(other.id_)) {}
  Timer& operator=(Timer&& other) noexcept {
    if (this != &other) {
      Cancel();
      timers_ = std::exchange(other.timers_, nullptr);
      id_ = std::move(other.id_);
    }
    return *this;
  }

  // True if the function will still be called; false while it runs.
  bool pending() const { return timers_ != nullptr && timers_->IsPending(id_); }

  void Cancel() {
    if (timers_ != nullptr) {
      std::exchange(timers_, nullptr)->Cancel(id_);
    }
  }

  // Returns true if this timer runs before `other`. Both must be pending timers
  // of the same clock.
  bool IsDueBefore(const Timer& other) const { return id_ < other.id_; }

 private:
  Timers* timers_ = nullptr;
  Timers::TimerId id_ = {};
};

}  // namespace sandbox

#endif  // SANDBOX_BASE_TIMER_H_
