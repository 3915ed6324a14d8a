// What the server is busy with, and whether it should go on: counts of calls,
// sandboxes and commands, and the waits for their end when it drains or is
// idle.
//
// Thread-safe. AwaitStop and AwaitQuiet block; the others don't.

#ifndef SERVER_ACTIVITY_H_
#define SERVER_ACTIVITY_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/timer_queue.h"

namespace server {

class Activity {
 public:
  // A call from its start to its end.
  struct EndCall {
    void operator()(Activity* activity) const { activity->CallEnded(); }
  };
  using Call = std::unique_ptr<Activity, EndCall>;

  // `idle_exit`: how long there may be neither a call nor a sandbox; zero: for
  // ever. `timers` must outlive this object, and be stopped before it is
  // destroyed.
  Activity(TimerQueue* timers, absl::Duration idle_exit);

  Call BeginCall();
  void SandboxAdded();
  void SandboxRemoved();
  void CommandStarted();
  void CommandEnded();

  // A person or the system wants the server to end. The second request ends a
  // drain.
  void RequestStop();

  // Blocks until RequestStop, or until the server has been idle for long
  // enough.
  void AwaitStop();

  // Refuses new work from now on, and blocks until no command runs, `longest`
  // is over or a stop was requested twice.
  void Drain(absl::Duration longest);

  // Blocks until no sandbox is left, or `longest` is over. False: one is left.
  bool AwaitNoSandbox(absl::Duration longest);

  // OK, or SERVER_DRAINING.
  absl::Status AdmitWork();
  bool draining();

 private:
  void CallEnded();
  bool idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return calls_ == 0 && sandboxes_ == 0;
  }
  void MaybeIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ArmDeadline(absl::Duration longest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  TimerQueue* const timers_;
  const absl::Duration idle_exit_;

  sandbox::Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration drain_for_ ABSL_GUARDED_BY(mutex_);
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  int sandboxes_ ABSL_GUARDED_BY(mutex_) = 0;
  int commands_ ABSL_GUARDED_BY(mutex_) = 0;
  int stop_requests_ ABSL_GUARDED_BY(mutex_) = 0;
  // Counts the times at which the server became idle.
  uint64_t idle_period_ ABSL_GUARDED_BY(mutex_) = 0;
  bool idle_too_long_ ABSL_GUARDED_BY(mutex_) = false;
  bool deadline_passed_ ABSL_GUARDED_BY(mutex_) = false;
  // Counts the deadlines that were set.
  uint64_t deadlines_ ABSL_GUARDED_BY(mutex_) = 0;
  // 0: none.
  TimerQueue::Id idle_timer_ ABSL_GUARDED_BY(mutex_) = 0;
  TimerQueue::Id deadline_timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace server

#endif  // SERVER_ACTIVITY_H_
