// Counts the viewers of a one-command sandbox, and reports when nobody has
// watched for long enough.
//
// Thread-safe; nothing here blocks.

#ifndef SERVER_CORE_VIEWERS_H_
#define SERVER_CORE_VIEWERS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/runtime/timer_queue.h"

namespace server {

class Viewers : public std::enable_shared_from_this<Viewers> {
 public:
  // The time after which a sandbox that nobody watches is reported.
  static constexpr absl::Duration kPatience = absl::Seconds(60);

  // `unwatched` is called on the timers' thread, each time that nobody has
  // watched for kPatience after a viewer left. `timers` must outlive the
  // object.
  static std::shared_ptr<Viewers> Create(TimerQueue* timers,
                                         std::function<void()> unwatched);
  ~Viewers();
  Viewers(const Viewers&) = delete;
  Viewers& operator=(const Viewers&) = delete;

  // Counts a viewer until End().
  void Begin();
  void End();

 private:
  Viewers(TimerQueue* timers, std::function<void()> unwatched)
      : timers_(timers), unwatched_(std::move(unwatched)) {}

  void OnTimer(uint64_t visits);

  TimerQueue* const timers_;
  const std::function<void()> unwatched_;

  sandbox::Mutex mutex_;
  int present_ ABSL_GUARDED_BY(mutex_) = 0;
  // The number of calls of Begin(). It shows a timer that a viewer came after
  // the timer was set.
  uint64_t visits_ ABSL_GUARDED_BY(mutex_) = 0;
  // The last that was set, which may have run; 0: none was.
  TimerQueue::Id timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace server

#endif  // SERVER_CORE_VIEWERS_H_
