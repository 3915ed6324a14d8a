// A TimerQueue with a thread of its own.

#ifndef SERVER_RUNTIME_THREAD_TIMER_QUEUE_H_
#define SERVER_RUNTIME_THREAD_TIMER_QUEUE_H_

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "server/runtime/timer_queue.h"

namespace server {

class ThreadTimerQueue final : public TimerQueue {
 public:
  ThreadTimerQueue();
  ~ThreadTimerQueue() override;

  // Waits for the function that runs at present, and destroys those that have
  // not run. None runs after this, and none is kept. May be called twice.
  void Stop();

  TimePoint Now() const override;
  Id RunAfter(absl::Duration delay,
              absl::AnyInvocable<void()> function) override;
  void Cancel(Id id) override;

 private:
  using Key = std::pair<TimePoint, Id>;

  void Run();
  TimePoint NextLook() const;

  // A std::mutex, since sandbox::Mutex cannot wait until a point in time.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, absl::AnyInvocable<void()>> functions_;
  std::map<Id, TimePoint> times_;
  Id last_id_ = 0;
  // The latest time at which the thread looks again.
  TimePoint next_look_ = TimePoint::min();
  // The time of a cancelled function. The thread looks then nevertheless, so
  // that a later function does not have to wake it now: most functions are
  // cancelled, and others with the same delay follow them.
  TimePoint kept_look_ = TimePoint::max();
  bool stopping_ = false;
  // Declared last, since it uses the other members.
  std::thread thread_;
};

}  // namespace server

#endif  // SERVER_RUNTIME_THREAD_TIMER_QUEUE_H_
