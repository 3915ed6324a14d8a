// The screens of all executions, and the threads that work on them.

#ifndef SERVER_SCREEN_LIVE_SCREENS_H_
#define SERVER_SCREEN_LIVE_SCREENS_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"
#include "server/core/disk_reads.h"
#include "server/core/execution.h"
#include "server/runtime/timer_queue.h"
#include "server/screen/live_screen.h"

namespace server {

// Thread-safe, and never blocks the caller, except in the destructor. Ends
// emulators that nobody used for a minute, and the longest unused one when
// there are too many.
class LiveScreens {
 public:
  // `timers` must outlive this object.
  explicit LiveScreens(TimerQueue* timers);
  // Waits for the work that was begun.
  ~LiveScreens();

  // Runs `work` with the execution's screen on a thread that may block. All
  // work on one screen runs in the order of the calls. The execution must have
  // a terminal.
  void Run(const std::shared_ptr<Execution>& execution,
           absl::AnyInvocable<void(absl::StatusOr<LiveScreen*>)> work);

  static constexpr size_t kMaxEmulators = 32;

 private:
  struct Entry {
    std::weak_ptr<Execution> execution;
    // Used by the work on this screen only.
    std::shared_ptr<LiveScreen> screen;
    TimerQueue::TimePoint used;
    // True if an emulator may run.
    bool warm = false;
  };
  using Entries = std::map<std::string, Entry>;

  Entry& FindOrAdd(const std::shared_ptr<Execution>& execution)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the emulator later than the work of earlier calls of Run(), which
  // still finds it.
  void EndEmulator(const std::string& name, Entry* entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndLongestUnused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Runs every kSweepInterval while there are entries.
  void Sweep() ABSL_LOCKS_EXCLUDED(mutex_);
  void Schedule() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  TimerQueue* const timers_;
  const absl::StatusOr<sandbox::UniqueFd> image_;
  sandbox::Mutex mutex_;
  // The screens by the name of the execution.
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  TimerQueue::Id timer_ ABSL_GUARDED_BY(mutex_) = 0;
  // Declared last, since its threads use the other members.
  DiskReads threads_;
};

}  // namespace server

#endif  // SERVER_SCREEN_LIVE_SCREENS_H_
