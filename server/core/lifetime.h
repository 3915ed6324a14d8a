// When a sandbox is deleted without being asked: at a certain age, or after it
// has been idle for long enough. See corral.v1.Lifetime.
//
// By the timers' monotonic clock alone, so that a jump of the wall clock
// neither ends a sandbox nor keeps it. Thread-safe.

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
  // On the timers' thread.
  using Expired = absl::AnyInvocable<void()>;

  // `idle_timeout` zero: none. `timers` must outlive this object.
  static std::shared_ptr<Lifetime> Create(TimerQueue* timers,
                                          absl::Duration idle_timeout);
  ~Lifetime();
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  // From now on `expired` is called, once at most. The first idle time begins
  // now. `age_left`: until the age is reached; infinite: never. Once.
  void Begin(absl::Duration age_left, Expired expired);

  // Not idle from Hold() to Release(): a command runs, or a call lasts. Holds
  // are counted, also before Begin().
  void Hold();
  void Release();

  // Not idle at this moment: a call names the sandbox.
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
  // Null: before Begin(), or after it was called.
  Expired expired_ ABSL_GUARDED_BY(mutex_);
  int holds_ ABSL_GUARDED_BY(mutex_) = 0;
  TimerQueue::TimePoint last_use_ ABSL_GUARDED_BY(mutex_);
  // 0: none.
  TimerQueue::Id age_timer_ ABSL_GUARDED_BY(mutex_) = 0;
  TimerQueue::Id idle_timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace server

#endif  // SERVER_CORE_LIFETIME_H_
