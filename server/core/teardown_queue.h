// Bounds how many sandboxes end at the same time. The others wait, and begin to
// end in the order in which they came.
//
// The end of a sandbox frees up to five compiled filters: those of its
// supervisor, its init (in a container), its spawner, the spawner before that,
// and its way out. Since Linux 6.9 a CPU's queue of such work can block for
// good, and with it all that uses seccomp, when more than 1024 of them wait
// there at once (see sandbox/seccomp/README.md). kMost teardowns have 80, and
// are more than two CPUs need to be busy.
//
// A teardown that takes longer than kPatience, like that of a supervisor that
// was stopped, does not count any more: it delays the others by that time only.
//
// Thread-safe; nothing here blocks. Callbacks are called without a lock held.

#ifndef SERVER_CORE_TEARDOWN_QUEUE_H_
#define SERVER_CORE_TEARDOWN_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/runtime/timer_queue.h"

namespace server {

class TeardownQueue : public std::enable_shared_from_this<TeardownQueue> {
 public:
  static constexpr size_t kMost = 16;
  static constexpr absl::Duration kPatience = absl::Seconds(2);

  // A teardown that is under way, until this is destroyed. The destructor may
  // begin other teardowns.
  class Turn {
   public:
    Turn(std::weak_ptr<TeardownQueue> queue, uint64_t id);
    ~Turn();
    Turn(Turn&&) = default;
    Turn& operator=(Turn&&) = delete;

   private:
    // Null if this was moved from, or the queue is destroyed.
    std::weak_ptr<TeardownQueue> queue_;
    uint64_t id_;
  };

  using Begin = absl::AnyInvocable<void(Turn)>;

  // `timers` must outlive the object.
  static std::shared_ptr<TeardownQueue> Create(TimerQueue* timers,
                                               size_t most = kMost);
  ~TeardownQueue();
  TeardownQueue(const TeardownQueue&) = delete;
  TeardownQueue& operator=(const TeardownQueue&) = delete;

  // Calls `begin` when a teardown may begin, perhaps at once, or later on
  // another thread. Never calls it if the queue is destroyed before.
  void Enter(Begin begin);

 private:
  struct Next {
    uint64_t id;
    Begin begin;
  };

  TeardownQueue(TimerQueue* timers, size_t most)
      : timers_(timers), most_(most) {}

  void Leave(uint64_t id);
  // Begins what may begin.
  void Advance();
  std::optional<Next> TakeNext();
  // The teardowns that count; `oldest` gets the begin of the first of them.
  size_t CountLively(TimerQueue::TimePoint* oldest) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  TimerQueue* const timers_;
  const size_t most_;

  sandbox::Mutex mutex_;
  std::deque<Begin> waiting_ ABSL_GUARDED_BY(mutex_);
  // The times at which those that are under way began, in their order.
  std::map<uint64_t, TimerQueue::TimePoint> running_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  // True while a thread is in Advance(), and will notice what other threads
  // change.
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
  // The last that was set, which may have run; 0: none was.
  TimerQueue::Id timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace server

#endif  // SERVER_CORE_TEARDOWN_QUEUE_H_
