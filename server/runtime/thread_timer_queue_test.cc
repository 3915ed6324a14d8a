#include "server/runtime/thread_timer_queue.h"

#include <chrono>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace server {
namespace {

using ::testing::ElementsAre;

// The queue runs one function at a time: while this one runs, a test adds
// functions whose order then depends on their times alone.
class Gate {
 public:
  explicit Gate(TimerQueue* queue) {
    queue->RunAfter(absl::ZeroDuration(), [this] {
      entered_.set_value();
      open_.get_future().wait();
    });
    entered_.get_future().wait();
  }
  void Open() { open_.set_value(); }

 private:
  std::promise<void> entered_;
  std::promise<void> open_;
};

TEST(ThreadTimerQueueTest, RunsFunctionsInTheOrderOfTheirTimes) {
  std::vector<int> order;
  std::promise<void> done;
  ThreadTimerQueue queue;
  Gate gate(&queue);
  queue.RunAfter(absl::Hours(1), [&] { order.push_back(3); });
  queue.RunAfter(absl::ZeroDuration(), [&] { order.push_back(1); });
  queue.RunAfter(absl::Milliseconds(1), [&] {
    order.push_back(2);
    done.set_value();
  });
  gate.Open();
  done.get_future().wait();
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(ThreadTimerQueueTest, NeverRunsAFunctionBeforeItsTime) {
  ThreadTimerQueue queue;
  const TimerQueue::TimePoint begin = queue.Now();
  std::promise<TimerQueue::TimePoint> ran;
  queue.RunAfter(absl::Milliseconds(20), [&] { ran.set_value(queue.Now()); });
  EXPECT_GE(ran.get_future().get() - begin, std::chrono::milliseconds(20));
}

TEST(ThreadTimerQueueTest, AnEarlierFunctionDoesNotWaitForALaterOne) {
  ThreadTimerQueue queue;
  queue.RunAfter(absl::Hours(1), [] {});
  // Each round most likely finds the queue waiting for the later function.
  for (int i = 0; i < 100; ++i) {
    std::promise<void> ran;
    queue.RunAfter(absl::ZeroDuration(), [&] { ran.set_value(); });
    ran.get_future().wait();
  }
}

TEST(ThreadTimerQueueTest, NeverRunsACancelledFunction) {
  bool ran = false;
  std::promise<void> done;
  ThreadTimerQueue queue;
  Gate gate(&queue);
  const TimerQueue::Id id =
      queue.RunAfter(absl::Milliseconds(1), [&] { ran = true; });
  queue.RunAfter(absl::Milliseconds(2), [&] { done.set_value(); });
  queue.Cancel(id);
  queue.Cancel(id);
  gate.Open();
  done.get_future().wait();
  EXPECT_FALSE(ran);
}

// The queue still looks at the time of the cancelled function.
TEST(ThreadTimerQueueTest, RunsOthersInTimeAfterOneIsCancelled) {
  ThreadTimerQueue queue;
  for (const absl::Duration cancelled :
       {absl::ZeroDuration(), absl::Milliseconds(2), absl::Hours(1)}) {
    const TimerQueue::Id id = queue.RunAfter(cancelled, [] {});
    queue.Cancel(id);
    for (const absl::Duration delay :
         {absl::Milliseconds(1), absl::Milliseconds(3)}) {
      const TimerQueue::TimePoint begin = queue.Now();
      std::promise<TimerQueue::TimePoint> ran;
      queue.RunAfter(delay, [&] { ran.set_value(queue.Now()); });
      EXPECT_GE(ran.get_future().get() - begin,
                absl::ToChronoNanoseconds(delay));
    }
  }
}

TEST(ThreadTimerQueueTest, AFunctionMayAddAndCancelOthers) {
  ThreadTimerQueue queue;
  std::promise<void> done;
  queue.RunAfter(absl::ZeroDuration(), [&] {
    queue.Cancel(queue.RunAfter(absl::ZeroDuration(), [] { FAIL(); }));
    queue.RunAfter(absl::ZeroDuration(), [&] { done.set_value(); });
  });
  done.get_future().wait();
}

// Adds a function when it is destroyed, as what a function captures may do.
class AddsAtItsEnd {
 public:
  explicit AddsAtItsEnd(TimerQueue* queue) : queue_(queue) {}
  ~AddsAtItsEnd() {
    queue_->RunAfter(absl::Hours(1), [] {});
  }

 private:
  TimerQueue* const queue_;
};

TEST(ThreadTimerQueueTest, DestroysACancelledFunctionOutsideOfItsLock) {
  ThreadTimerQueue queue;
  const TimerQueue::Id id = queue.RunAfter(
      absl::Hours(1), [held = std::make_unique<AddsAtItsEnd>(&queue)] {});
  queue.Cancel(id);
}

TEST(ThreadTimerQueueTest, RunsNothingAfterStop) {
  bool ran = false;
  {
    ThreadTimerQueue queue;
    queue.RunAfter(absl::Hours(1), [&] { ran = true; });
    queue.Stop();
    queue.RunAfter(absl::ZeroDuration(), [&] { ran = true; });
    queue.Stop();
  }
  EXPECT_FALSE(ran);
}

// Cancels a timer when it is destroyed, as owners of timers do.
class Owner {
 public:
  explicit Owner(TimerQueue* queue)
      : queue_(queue), timer_(queue->RunAfter(absl::Hours(1), [] {})) {}
  ~Owner() { queue_->Cancel(timer_); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

 private:
  TimerQueue* const queue_;
  const TimerQueue::Id timer_;
};

TEST(ThreadTimerQueueTest, DestroysWaitingFunctionsWhenItStops) {
  ThreadTimerQueue queue;
  auto owner = std::make_shared<Owner>(&queue);
  const std::weak_ptr<Owner> alive = owner;
  queue.RunAfter(absl::Hours(1), [kept = std::move(owner)] {});
  queue.Stop();
  EXPECT_TRUE(alive.expired());
}

TEST(ThreadTimerQueueTest, KeepsNoFunctionAfterItHasStopped) {
  ThreadTimerQueue queue;
  queue.Stop();
  auto owner = std::make_shared<Owner>(&queue);
  const std::weak_ptr<Owner> alive = owner;
  queue.RunAfter(absl::Hours(1), [kept = std::move(owner)] {});
  EXPECT_TRUE(alive.expired());
}

TEST(ThreadTimerQueueTest, DestroysAFunctionThatHasRunOutsideOfItsLock) {
  ThreadTimerQueue queue;
  queue.RunAfter(absl::ZeroDuration(),
                 [held = std::make_unique<AddsAtItsEnd>(&queue)] {});
  std::promise<void> ran;
  queue.RunAfter(absl::ZeroDuration(), [&] { ran.set_value(); });
  ran.get_future().wait();
}

TEST(ThreadTimerQueueTest, AFunctionThatStopDroppedMayBeCancelled) {
  ThreadTimerQueue queue;
  const TimerQueue::Id id = queue.RunAfter(absl::Hours(1), [] {});
  queue.Stop();
  queue.Cancel(id);
}

TEST(ThreadTimerQueueTest, AFunctionThatHasRunMayBeCancelled) {
  ThreadTimerQueue queue;
  std::promise<void> ran;
  const TimerQueue::Id id =
      queue.RunAfter(absl::ZeroDuration(), [&] { ran.set_value(); });
  ran.get_future().wait();
  queue.Cancel(id);
  std::promise<void> next;
  queue.RunAfter(absl::ZeroDuration(), [&] { next.set_value(); });
  next.get_future().wait();
}

}  // namespace
}  // namespace server
