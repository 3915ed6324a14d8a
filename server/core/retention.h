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
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/core/execution.h"
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
  using ExecutionPtr = std::shared_ptr<const Execution>;

  // Access to executions by their names.
  struct Executions {
    // Returns true while somebody streams or waits for it.
    std::function<bool(const std::string& name)> in_use;
    // Deletes it and calls the second argument, once, from any thread.
    std::function<void(const std::string& name, Done)> remove;
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

  // Counts an execution that has ended. A second call for one execution changes
  // nothing. The caller calls Enforce() next.
  void Ended(const ExecutionPtr& execution);

  // Forgets an execution that is deleted, whoever deleted it.
  void Removed(const ExecutionPtr& execution);

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
    int64_t end_ns;
    // The time at which it is too old.
    TimerQueue::TimePoint due;
    ExecutionPtr execution;
  };
  // Orders executions by their end.
  struct EndsBefore {
    bool operator()(const Kept& one, const Kept& other) const;
  };
  using ByEnd = absl::btree_set<Kept, EndsBefore>;

  Retention(const Limits& limits, TimerQueue* timers, Executions executions)
      : limits_(limits), timers_(timers), executions_(std::move(executions)) {}

  // Sets aside the execution to be removed next. Absent if none exceeds a
  // limit, or none may be removed now.
  std::optional<Kept> TakeNext();
  void OnRemoved(const Kept& taken, const absl::Status& status);
  void LookAgainLater(const Kept& taken);
  void ArmTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  TimerQueue* const timers_;
  const Executions executions_;

  mutable sandbox::Mutex mutex_;
  // The executions that count.
  ByEnd by_end_ ABSL_GUARDED_BY(mutex_);
  // Those that are being removed, or are looked at again later.
  ByEnd aside_ ABSL_GUARDED_BY(mutex_);
  // How many are being removed.
  size_t removing_ ABSL_GUARDED_BY(mutex_) = 0;
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
