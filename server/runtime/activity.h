// What the server is busy with, and whether it should go on: counts of calls,
// sandboxes and commands, and the waits for their end when it drains, is idle
// or hands over to a successor.
//
// Thread-safe. Drain and Await... block; the others don't.

#ifndef SERVER_RUNTIME_ACTIVITY_H_
#define SERVER_RUNTIME_ACTIVITY_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/runtime/timer_queue.h"

namespace server {

// A call that lasts as long as its client likes: a stream of output, a wait.
class LastingCall {
 public:
  // Ends the call with this error, unless it is over. Must not block.
  virtual void Fail(const absl::Status& status) = 0;

 protected:
  ~LastingCall() = default;
};

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

  // The start of a command or of a sandbox, from its admission to its answer.
  struct EndStart {
    void operator()(Activity* activity) const { activity->StartEnded(); }
  };
  using Start = std::unique_ptr<Activity, EndStart>;
  Start BeginStart();

  // Until RemoveLasting, EndLastingCalls ends the call. An error: they were
  // ended already; it is to be ended with this.
  absl::Status AddLasting(LastingCall* call, std::weak_ptr<LastingCall> owner);
  void RemoveLasting(LastingCall* call);

  void SandboxAdded();
  void SandboxRemoved();
  void CommandStarted();
  void CommandEnded();

  // A person or the system wants the server to end. The second request ends a
  // drain.
  void RequestStop();

  // A successor waits to take over.
  void RequestHandover();
  // It does no more.
  void CancelHandover();

  // Blocks until one of the two is requested, or until the server has been idle
  // for long enough.
  void AwaitStop();
  bool handover_requested();

  enum class DrainFor { kReaders, kReadersAndCommands };
  // Refuses new work from now on, and blocks until no lasting call is left and,
  // of kReadersAndCommands, no command runs; or `longest` is over, a stop was
  // requested twice or a successor waits.
  void Drain(absl::Duration longest,
             DrainFor what = DrainFor::kReadersAndCommands);

  // Refuses new work from now on, with the advice to come back so much later.
  void RefuseWork(absl::Duration retry_after);
  void AdmitWorkAgain();

  // Ends all lasting calls, and those that begin later, with SERVER_DRAINING.
  void EndLastingCalls();

  // Each blocks until there is none, or `longest` is over.
  void AwaitNoStart(absl::Duration longest);
  void AwaitNoLastingCall(absl::Duration longest);
  void AwaitNoCall(absl::Duration longest);

  // Blocks until no sandbox is left, or `longest` is over. False: one is left.
  bool AwaitNoSandbox(absl::Duration longest);

  // OK, or SERVER_DRAINING.
  absl::Status AdmitWork();
  bool draining();

 private:
  void CallEnded();
  void StartEnded();
  template <typename Condition>
  void AwaitFor(absl::Duration longest, Condition condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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
  absl::Duration retry_after_ ABSL_GUARDED_BY(mutex_);
  bool handover_ ABSL_GUARDED_BY(mutex_) = false;
  bool lasting_ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<LastingCall*, std::weak_ptr<LastingCall>> lasting_
      ABSL_GUARDED_BY(mutex_);
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  int starts_ ABSL_GUARDED_BY(mutex_) = 0;
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

#endif  // SERVER_RUNTIME_ACTIVITY_H_
