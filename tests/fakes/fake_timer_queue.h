// A TimerQueue whose clock stands still until a test moves it.
//
// Thread-safe. Functions run on the thread that calls Advance().

#ifndef TESTS_FAKES_FAKE_TIMER_QUEUE_H_
#define TESTS_FAKES_FAKE_TIMER_QUEUE_H_

#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/runtime/timer_queue.h"

namespace tests {

class FakeTimerQueue : public server::TimerQueue {
 public:
  TimePoint Now() const override {
    sandbox::MutexLock lock(&mutex_);
    return now_;
  }

  Id RunAfter(absl::Duration delay,
              absl::AnyInvocable<void()> function) override {
    sandbox::MutexLock lock(&mutex_);
    const Id id = ++last_id_;
    functions_.emplace(
        std::make_pair(now_ + absl::ToChronoNanoseconds(delay), id),
        std::move(function));
    mutex_.Signal();
    return id;
  }

  void Cancel(Id id) override {
    sandbox::MutexLock lock(&mutex_);
    for (auto entry = functions_.begin(); entry != functions_.end(); ++entry) {
      if (entry->first.second == id) {
        functions_.erase(entry);
        return;
      }
    }
  }

  // Drops all functions.
  void Clear() {
    // Destroyed without the lock: what they own may cancel timers.
    std::map<std::pair<TimePoint, Id>, absl::AnyInvocable<void()>> dropped;
    sandbox::MutexLock lock(&mutex_);
    dropped.swap(functions_);
  }

  // Runs what is due by then, in its order.
  void Advance(absl::Duration duration) {
    TimePoint end;
    {
      sandbox::MutexLock lock(&mutex_);
      end = now_ + absl::ToChronoNanoseconds(duration);
    }
    while (RunFirst(end)) {
    }
  }

  // How many functions wait.
  size_t size() const {
    sandbox::MutexLock lock(&mutex_);
    return functions_.size();
  }

  // Blocks until `count` functions wait.
  void AwaitTimers(size_t count) {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return functions_.size() >= count;
    });
  }

 private:
  bool RunFirst(TimePoint end) {
    absl::AnyInvocable<void()> function;
    {
      sandbox::MutexLock lock(&mutex_);
      if (functions_.empty() || functions_.begin()->first.first > end) {
        now_ = end;
        return false;
      }
      now_ = functions_.begin()->first.first;
      function = std::move(functions_.begin()->second);
      functions_.erase(functions_.begin());
    }
    function();
    return true;
  }

  mutable sandbox::Mutex mutex_;
  TimePoint now_ ABSL_GUARDED_BY(mutex_);
  Id last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::pair<TimePoint, Id>, absl::AnyInvocable<void()>> functions_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace tests

#endif  // TESTS_FAKES_FAKE_TIMER_QUEUE_H_
