// Counts viewers of the command of a sandbox that was made for it alone. When
// nobody has watched for long enough, the sandbox has no use any more.
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
  // How long nobody may watch.
  static constexpr absl::Duration kPatience = absl::Seconds(60);

  // `unwatched` is called on the timers' thread, each time that nobody has
  // watched for kPatience after a viewer left. `timers` must outlive the
  // object.
  static std::shared_ptr<Viewers> Create(TimerQueue* timers,
                                         std::function<void()> unwatched);
  ~Viewers();
  Viewers(const Viewers&) = delete;
  Viewers& operator=(const Viewers&) = delete;

  // A viewer came; it leaves with End().
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
  // Counts the calls of Begin(): a timer that a later visit has outdated knows
  // itself by it.
  uint64_t visits_ ABSL_GUARDED_BY(mutex_) = 0;
  // 0: none.
  TimerQueue::Id timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace server

#endif  // SERVER_CORE_VIEWERS_H_
