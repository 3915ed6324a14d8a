#include "server/runtime/thread_timer_queue.h"

#include <future>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace server {
namespace {

using ::testing::ElementsAre;

TEST(ThreadTimerQueueTest, RunsWhatIsDueInTheOrderOfTheirTimes) {
  std::vector<int> order;
  std::promise<void> done;
  {
    ThreadTimerQueue queue;
    queue.RunAfter(absl::Milliseconds(20), [&] {
      order.push_back(2);
      done.set_value();
    });
    queue.RunAfter(absl::Milliseconds(1), [&] { order.push_back(1); });
    done.get_future().wait();
  }
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(ThreadTimerQueueTest, ACancelledOneNeverRuns) {
  bool ran = false;
  std::promise<void> done;
  {
    ThreadTimerQueue queue;
    const TimerQueue::Id id =
        queue.RunAfter(absl::Milliseconds(10), [&] { ran = true; });
    queue.Cancel(id);
    queue.Cancel(id);
    queue.RunAfter(absl::Milliseconds(20), [&] { done.set_value(); });
    done.get_future().wait();
  }
  EXPECT_FALSE(ran);
}

TEST(ThreadTimerQueueTest, DropsWhatIsLeftWhenItEnds) {
  ThreadTimerQueue queue;
  queue.RunAfter(absl::Hours(1), [] { FAIL(); });
}

}  // namespace
}  // namespace server
