// Tracks what the server is busy with and whether it should go on: calls,
// sandboxes and commands, and the waits for their end when the server drains,
// is idle or hands over to a successor.
//
// Thread-safe. Drain and Await... block; the others don't.

#ifndef SERVER_RUNTIME_ACTIVITY_H_
#define SERVER_RUNTIME_ACTIVITY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/runtime/timer_queue.h"

namespace server {

// A call that lasts as long as its client wants: a stream of output, a wait.
class LastingCall {
 public:
  // Ends the call with this error, unless it is over. Must not block.
  virtual void Fail(const absl::Status& status) = 0;

 protected:
  ~LastingCall() = default;
};

class Activity {
 public:
  struct Options {
    // How long the server runs without a call and a sandbox; zero: for ever.
    absl::Duration idle_exit;
    // The largest number of lasting and held calls together at one time.
    size_t max_lasting_calls = SIZE_MAX;
    // The largest number of bytes that held calls have at one time.
    uint64_t max_held_bytes = UINT64_MAX;
  };

  // A call from its start to its end.
  struct EndCall {
    void operator()(Activity* activity) const { activity->CallEnded(); }
  };
  using Call = std::unique_ptr<Activity, EndCall>;

  // `timers` must outlive this object, and be stopped before it is destroyed.
  Activity(TimerQueue* timers, const Options& options);

  Call BeginCall();

  // The start of a command or of a sandbox, from its admission to its answer.
  struct EndStart {
    void operator()(Activity* activity) const { activity->StartEnded(); }
  };
  using Start = std::unique_ptr<Activity, EndStart>;
  Start BeginStart();

  // Counts a lasting call, and has EndLastingCalls end it, until RemoveLasting.
  // A call that gets an error is not counted; it must start nothing and end
  // with that error. Fails with TOO_MANY_CALLS if there are max_lasting_calls
  // already, and with SERVER_DRAINING if the lasting calls were ended already.
  absl::Status AddLasting(LastingCall* call, std::weak_ptr<LastingCall> owner);
  void RemoveLasting(LastingCall* call);

  // A call that may wait for long, but that neither a drain waits for nor
  // EndLastingCalls ends, such as a write of input. From BeginHeld() to the end
  // of the returned object it counts with the lasting calls. TOO_MANY_CALLS:
  // there are max_lasting_calls already. TOO_MUCH_INPUT: with its `bytes` and
  // the `share` of max_held_bytes that its execution has already, the execution
  // would have more than is left for the others. So a few that fill their
  // shares always leave room for one more.
  struct EndHeld {
    uint64_t bytes = 0;
    void operator()(Activity* activity) const { activity->HeldEnded(bytes); }
  };
  using Held = std::unique_ptr<Activity, EndHeld>;
  absl::StatusOr<Held> BeginHeld(uint64_t bytes, uint64_t share);

  void SandboxAdded();
  void SandboxRemoved();
  void CommandStarted();
  void CommandEnded();

  // Asks the server to end. The second request ends a drain.
  void RequestStop();

  // A successor asks to take over, or has gone.
  void RequestHandover();
  void CancelHandover();

  // Blocks until should_stop().
  void AwaitStop();
  // True once a stop or a handover was requested, or while the server has been
  // idle for at least idle_exit.
  bool should_stop();
  bool handover_requested();

  enum class DrainFor { kReaders, kReadersAndCommands };
  // Refuses new work from now on. Then blocks until no lasting call is left
  // and, for kReadersAndCommands, no command runs. Ends early when `longest` is
  // over, when a stop was requested twice and when a successor waits. Returns
  // true if nothing is left.
  bool Drain(absl::Duration longest,
             DrainFor what = DrainFor::kReadersAndCommands);

  // Refuses new work from now on, and advises to retry after `retry_after`.
  void RefuseWork(absl::Duration retry_after);
  void AdmitWorkAgain();

  // Ends all lasting calls, and those that begin later, with SERVER_DRAINING.
  void EndLastingCalls();

  // Each blocks until none is left, or `longest` is over. Returns true if none
  // is left.
  bool AwaitNoStart(absl::Duration longest);
  bool AwaitNoLastingCall(absl::Duration longest);
  bool AwaitNoCall(absl::Duration longest);
  bool AwaitNoSandbox(absl::Duration longest);

  // Returns OK, or SERVER_DRAINING.
  absl::Status AdmitWork();
  bool draining();
  // Blocks until draining() is `draining`.
  void AwaitDraining(bool draining);

 private:
  void CallEnded();
  void StartEnded();
  void HeldEnded(uint64_t bytes);
  absl::Status CheckLastingCalls() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blocks until `condition` holds or `longest` is over.
  template <typename Condition>
  void AwaitFor(absl::Duration longest, Condition condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ShouldStop() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stop_requests_ > 0 || idle_too_long_ || handover_;
  }
  bool IsDrained(DrainFor what) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return lasting_.empty() && (what == DrainFor::kReaders || commands_ == 0);
  }
  bool idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return calls_ == 0 && sandboxes_ == 0;
  }
  void MaybeIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A count has gone down. Wakes nobody while the server serves: each wake-up
  // would take longer than what was counted.
  void CountChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  TimerQueue* const timers_;
  const Options options_;

  sandbox::Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration retry_after_ ABSL_GUARDED_BY(mutex_);
  bool handover_ ABSL_GUARDED_BY(mutex_) = false;
  bool lasting_ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<LastingCall*, std::weak_ptr<LastingCall>> lasting_
      ABSL_GUARDED_BY(mutex_);
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  int starts_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t held_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int sandboxes_ ABSL_GUARDED_BY(mutex_) = 0;
  int commands_ ABSL_GUARDED_BY(mutex_) = 0;
  // Waits for the counts above.
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  int stop_requests_ ABSL_GUARDED_BY(mutex_) = 0;
  // Counts how often the server became idle.
  uint64_t idle_period_ ABSL_GUARDED_BY(mutex_) = 0;
  bool idle_too_long_ ABSL_GUARDED_BY(mutex_) = false;
  // 0: none.
  TimerQueue::Id idle_timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace server

#endif  // SERVER_RUNTIME_ACTIVITY_H_
