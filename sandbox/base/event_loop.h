// One thread's epoll loop: descriptors, timers and functions posted from other
// threads.
//
// Threading: everything belongs to the thread that calls Run(), except Post()
// and Stop(), which any thread may call. Callbacks run on that thread, one at a
// time, and may add, change and remove watches and timers.

#ifndef SANDBOX_BASE_EVENT_LOOP_H_
#define SANDBOX_BASE_EVENT_LOOP_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/timers.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

class EventLoop final : public Timers {
 public:
  // Gets the EPOLL* bits that are ready.
  using OnReady = std::function<void(uint32_t events)>;

  static absl::StatusOr<std::unique_ptr<EventLoop>> Create();

  // `events` are EPOLL* bits; EPOLLERR and EPOLLHUP are always reported. `fd`
  // is not owned and must be watched once at most; Unwatch() comes before it is
  // closed. If the kernel has no room for a watch now (ENOMEM, ENOSPC), the
  // loop retries until it has.
  void Watch(int fd, uint32_t events, OnReady on_ready);
  void SetEvents(int fd, uint32_t events);
  void Unwatch(int fd);
  // Unwatches and closes a descriptor of which there is no copy, in no process:
  // the kernel then ends its watch by itself. With EPOLLONESHOT, a copy does no
  // harm: the kernel reports it at most once more, and the loop ignores that.
  void Close(UniqueFd fd);

  // Timers by the monotonic clock, for the loop's thread. See Timer for an
  // owner.
  TimerId After(absl::Duration delay, Function function) override;
  void Cancel(TimerId timer) override { timers_.erase(timer); }
  bool IsPending(TimerId timer) const override {
    return timers_.count(timer) != 0;
  }

  // Runs `function` on the loop's thread, after what was posted before.
  void Post(Function function);

  // Runs `function` after the callback that runs now. Called on the loop's
  // thread only; spares the system calls of Post().
  void Defer(Function function) { deferred_.push_back(std::move(function)); }

  // Runs `function` when no descriptor is ready and no timer is due, after
  // functions that were given before. Called on the loop's thread only.
  void WhenIdle(Function function) { idle_.push_back(std::move(function)); }

  // Runs until Stop(). What was posted before Stop() is run. May be called
  // again afterwards.
  void Run();
  void Stop();

 private:
  struct Entry {
    // Changes with every Watch(), to recognise stale events after a descriptor
    // number was reused.
    uint32_t generation;
    uint32_t events;
    // True while the kernel has the descriptor in its set.
    bool added;
    // Shared, since a callback may remove its own watch while it runs.
    std::shared_ptr<OnReady> on_ready;
  };

  EventLoop(UniqueFd epoll, UniqueFd wakeup);

  // Registers the events of `fd` with the kernel, if its watch is still
  // `generation`.
  void Apply(int fd, uint32_t generation);
  void Dispatch(uint64_t tag, uint32_t events);
  void RunPosted();
  void RunDeferred();
  void RunTimers();
  int Timeout() const;

  const UniqueFd epoll_;
  const UniqueFd wakeup_;
  std::map<int, Entry> watches_;
  uint32_t next_generation_ = 1;
  std::map<TimerId, Function> timers_;
  uint64_t next_timer_ = 0;
  bool stopping_ = false;
  std::vector<Function> deferred_;
  std::deque<Function> idle_;

  Mutex mutex_;
  std::vector<Function> posted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandbox

#endif  // SANDBOX_BASE_EVENT_LOOP_H_
