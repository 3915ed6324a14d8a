// Removes ended executions: the one that ended first while there are too many,
// and each that has been kept for long enough. See corral.v1.Retention.
//
// An execution that somebody streams or waits for stays until nobody does, and
// does not count meanwhile. Ages are measured by the timers' monotonic clock;
// the wall clock is read once for each execution, when its end is reported.
//
// Thread-safe; nothing here blocks. Callbacks are called without a lock held.

#ifndef SERVER_CORE_RETENTION_H_
#define SERVER_CORE_RETENTION_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/runtime/timer_queue.h"

namespace server {

class Retention : public std::enable_shared_from_this<Retention> {
 public:
  struct Limits {
    size_t max_count;
    // Infinite: no limit.
    absl::Duration max_age;
  };

  using Done = absl::AnyInvocable<void(absl::Status)>;

  // Access to the executions of a sandbox.
  struct Executions {
    // Returns true while somebody streams or waits for it.
    std::function<bool(const std::string& id)> in_use;
    // Deletes it and calls the second argument, once, from any thread.
    std::function<void(const std::string& id, Done)> remove;
  };

  // The number of removals at a time: after a restart thousands may be due.
  static constexpr size_t kMaxRemovals = 16;
  // The time after which an execution that was in use, or whose removal failed,
  // is looked at again.
  static constexpr absl::Duration kRetry = absl::Seconds(10);

  // `timers` must outlive the object.
  static std::shared_ptr<Retention> Create(const Limits& limits,
                                           TimerQueue* timers,
                                           Executions executions);
  ~Retention();
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;

  // Counts an execution that ended at `end`. A second call for one execution
  // changes nothing. The caller calls Enforce() next.
  void Ended(const std::string& id, absl::Time end);

  // Forgets an execution that is deleted, whoever deleted it.
  void Removed(const std::string& id);

  // While a Suspension lives, nothing is removed. Used while records are being
  // read, since the execution that ended first is not known before.
  class Suspension {
   public:
    explicit Suspension(std::shared_ptr<Retention> retention);
    ~Suspension();
    Suspension(Suspension&&) = default;
    Suspension& operator=(Suspension&&) = delete;

   private:
    std::shared_ptr<Retention> retention_;
  };

  // Removes the executions that exceed a limit. Executions that become too old
  // later are removed without a call.
  void Enforce();

  // Returns the number of ended executions, without those that are being
  // removed.
  size_t size() const;

 private:
  struct Kept {
    absl::Time end;
    // The time at which it is too old.
    TimerQueue::TimePoint due;
  };

  Retention(const Limits& limits, TimerQueue* timers, Executions executions)
      : limits_(limits), timers_(timers), executions_(std::move(executions)) {}

  // Takes the execution to be removed next. Absent if none exceeds a limit, or
  // none may be removed now.
  std::optional<std::string> TakeNext();
  void OnRemoved(const std::string& id, const absl::Status& status);
  void LookAgainLater(const std::string& id);
  void ArmTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  TimerQueue* const timers_;
  const Executions executions_;

  mutable sandbox::Mutex mutex_;
  // All ended executions that are not deleted, by id.
  std::map<std::string, Kept> kept_ ABSL_GUARDED_BY(mutex_);
  // The executions that count, ordered by their end.
  std::set<std::pair<absl::Time, std::string>> by_end_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> removing_ ABSL_GUARDED_BY(mutex_);
  // The number of Suspensions that live.
  int suspensions_ ABSL_GUARDED_BY(mutex_) = 0;
  // True while a thread is in Enforce(), and will notice what other threads
  // change.
  bool enforcing_ ABSL_GUARDED_BY(mutex_) = false;
  // The last that was set, which may have run; 0: none was.
  TimerQueue::Id timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace server

#endif  // SERVER_CORE_RETENTION_H_
