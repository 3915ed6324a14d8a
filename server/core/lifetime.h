// Decides when a sandbox is deleted without a request: at a certain age, or
// after it has been idle for long enough. See corral.v1.Lifetime.
//
// Uses only the timers' monotonic clock, so that a jump of the wall clock
// neither ends a sandbox nor keeps it. Thread-safe; nothing here blocks.

#ifndef SERVER_CORE_LIFETIME_H_
#define SERVER_CORE_LIFETIME_H_

#include <memory>

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

  // A zero `idle_timeout` means no limit. `timers` must outlive this object.
  static std::shared_ptr<Lifetime> Create(TimerQueue* timers,
                                          absl::Duration idle_timeout);
  ~Lifetime();
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  // Calls `expired`, at most once, when the sandbox has reached its age, which
  // it does after `age_left` (infinite: never), or has been idle for too long.
  // The first idle time begins now. To be called once.
  void Begin(absl::Duration age_left, Expired expired);

  // From Hold() to Release() the sandbox is not idle: a command runs or a call
  // lasts. Holds are counted, also before Begin().
  void Hold();
  void Release();

  // Begins the idle time anew, because a call names the sandbox.
  void Touch();

 private:
  Lifetime(TimerQueue* timers, absl::Duration idle_timeout)
      : timers_(timers), idle_timeout_(idle_timeout) {}

  void ArmIdle(absl::Duration delay) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnIdleTimer();
  void Expire();

  TimerQueue* const timers_;
  const absl::Duration idle_timeout_;

  sandbox::Mutex mutex_;
  // Null before Begin(), and after the call.
  Expired expired_ ABSL_GUARDED_BY(mutex_);
  int holds_ ABSL_GUARDED_BY(mutex_) = 0;
  TimerQueue::TimePoint last_use_ ABSL_GUARDED_BY(mutex_);
  // 0: none.
  TimerQueue::Id age_timer_ ABSL_GUARDED_BY(mutex_) = 0;
  TimerQueue::Id idle_timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace server

#endif  // SERVER_CORE_LIFETIME_H_
