// Decides when a sandbox is deleted without a request: at a certain age, after
// it has been idle for long enough, or when no client has renewed its lease.
// See corral.v1.Lifetime.
//
// Uses only the timers' monotonic clock, so that a jump of the wall clock
// neither ends a sandbox nor keeps it. Thread-safe; nothing here blocks.

#ifndef SERVER_CORE_LIFETIME_H_
#define SERVER_CORE_LIFETIME_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/runtime/timer_queue.h"

namespace server {

class Lifetime : public std::enable_shared_from_this<Lifetime> {
 public:
  // Called on the timers' thread.
  using Expired = absl::AnyInvocable<void()>;

  // Zero: no limit.
  struct Limits {
    absl::Duration idle_timeout;
    absl::Duration lease_timeout;
  };

  // Commands and calls keep a sandbox. A command keeps it from being idle, but
  // does not renew its lease; a call does both.
  enum class Holder { kCommand, kCall };

  // `timers` must outlive this object.
  static std::shared_ptr<Lifetime> Create(TimerQueue* timers,
                                          const Limits& limits);
  ~Lifetime();
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  // Calls `expired`, at most once, when the sandbox has reached its age, which
  // it does after `age_left` (infinite: never), has been idle for too long, or
  // has lost its lease. Idle time and lease begin now. To be called once.
  void Begin(absl::Duration age_left, Expired expired);

  // Hold() marks the begin of a command or a lasting call, Release() its end.
  // Holds are counted, also before Begin().
  void Hold(Holder holder);
  void Release(Holder holder);

  // Begins idle time and lease anew, because a call names the sandbox.
  void Touch();

 private:
  // A time that begins anew whenever the last hold is released.
  struct Countdown {
    absl::Duration timeout;
    int holds = 0;
    TimerQueue::TimePoint last_use;
    // 0: none.
    TimerQueue::Id timer = 0;
  };
  // A member of this class.
  using Which = Countdown Lifetime::*;

  Lifetime(TimerQueue* timers, const Limits& limits) : timers_(timers) {
    idle_.timeout = limits.idle_timeout;
    lease_.timeout = limits.lease_timeout;
  }

  void ReleaseFrom(Which which) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets the timer of a countdown that nothing holds, after Begin().
  void MaybeArm(Which which) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Arm(Which which, absl::Duration delay)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnTimer(Which which);
  void Expire();

  TimerQueue* const timers_;

  sandbox::Mutex mutex_;
  // Null before Begin(), and after the call.
  Expired expired_ ABSL_GUARDED_BY(mutex_);
  // 0: none.
  TimerQueue::Id age_timer_ ABSL_GUARDED_BY(mutex_) = 0;
  Countdown idle_ ABSL_GUARDED_BY(mutex_);
  // Only calls hold it, not commands.
  Countdown lease_ ABSL_GUARDED_BY(mutex_);
};

// A call that lasts: keeps the sandbox for as long as this object lives.
class CallHold {
 public:
  explicit CallHold(std::shared_ptr<Lifetime> lifetime)
      : lifetime_(std::move(lifetime)) {
    lifetime_->Hold(Lifetime::Holder::kCall);
  }
  ~CallHold() {
    if (lifetime_ != nullptr) {
      lifetime_->Release(Lifetime::Holder::kCall);
    }
  }
  CallHold(CallHold&&) = default;
  CallHold& operator=(CallHold&&) = delete;

 private:
  // Null after a move.
  std::shared_ptr<Lifetime> lifetime_;
};

}  // namespace server

#endif  // SERVER_CORE_LIFETIME_H_
