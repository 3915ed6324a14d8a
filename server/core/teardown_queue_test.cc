#include "server/core/teardown_queue.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class TeardownQueueTest : public ::testing::Test {
 protected:
  // Enters the queue as `name`. The turn lasts until End().
  void Enter(int name) {
    queue_->Enter([this, name](TeardownQueue::Turn turn) {
      begun_.push_back(name);
      turns_.emplace(name, std::move(turn));
    });
  }
  void End(int name) { turns_.erase(name); }

  tests::FakeTimerQueue timers_;
  // In the order in which they began.
  std::vector<int> begun_;
  // Those that are under way.
  std::map<int, TeardownQueue::Turn> turns_;
  // The queue ends before the turns, so that none begins when they end.
  std::shared_ptr<TeardownQueue> queue_ = TeardownQueue::Create(&timers_, 2);
};

TEST_F(TeardownQueueTest, BeginsAtOnceWhileFewAreUnderWay) {
  Enter(1);
  Enter(2);
  EXPECT_THAT(begun_, ElementsAre(1, 2));
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(TeardownQueueTest, BeginsTheNextOnlyWhenAnotherEnds) {
  for (int name = 1; name <= 5; ++name) {
    Enter(name);
  }
  EXPECT_THAT(begun_, ElementsAre(1, 2));
  End(2);
  EXPECT_THAT(begun_, ElementsAre(1, 2, 3));
  End(1);
  End(3);
  EXPECT_THAT(begun_, ElementsAre(1, 2, 3, 4, 5));
}

// Turns that end on other threads than those that began them.
class TurnsOfOthers {
 public:
  static constexpr int kCount = 2000;

  explicit TurnsOfOthers(std::shared_ptr<TeardownQueue> queue)
      : queue_(std::move(queue)) {
    for (int i = 0; i < 4; ++i) {
      threads_.emplace_back([this] {
        for (int j = 0; j < kCount / 4; ++j) {
          queue_->Enter([this](TeardownQueue::Turn turn) {
            const sandbox::MutexLock lock(&mutex_);
            turns_.push_back(std::move(turn));
            most_ = std::max(most_, turns_.size());
          });
        }
      });
    }
    threads_.emplace_back([this] { EndAll(); });
  }
  // Returns how many were under way at one time, when all have ended.
  size_t AwaitMost() {
    for (std::thread& thread : threads_) {
      thread.join();
    }
    return most_;
  }

 private:
  void EndAll() {
    for (int ended = 0; ended < kCount;) {
      std::vector<TeardownQueue::Turn> turns;  // end without the lock
      {
        const sandbox::MutexLock lock(&mutex_);
        turns.swap(turns_);
      }
      ended += static_cast<int>(turns.size());
      std::this_thread::yield();
    }
  }

  const std::shared_ptr<TeardownQueue> queue_;
  sandbox::Mutex mutex_;
  std::vector<TeardownQueue::Turn> turns_ ABSL_GUARDED_BY(mutex_);
  size_t most_ = 0;
  std::vector<std::thread> threads_;
};

TEST_F(TeardownQueueTest, NeverHasMoreThanItsBoundUnderWay) {
  TurnsOfOthers turns(TeardownQueue::Create(&timers_));
  const size_t most = turns.AwaitMost();
  EXPECT_GE(most, 1);
  EXPECT_LE(most, TeardownQueue::kMost);
}

TEST_F(TeardownQueueTest, BeginsThemInTheOrderInWhichTheyCame) {
  for (int name = 0; name < 100; ++name) {
    Enter(name);
  }
  // Also if later ones come all the time.
  for (int name = 0; name < 100; ++name) {
    Enter(100 + name);
    End(name);
  }
  EXPECT_THAT(begun_, SizeIs(102));
  EXPECT_TRUE(std::is_sorted(begun_.begin(), begun_.end()));
}

TEST_F(TeardownQueueTest, WaitsForOneThatHangsNoLongerThanItsPatience) {
  Enter(1);
  Enter(2);
  timers_.Advance(TeardownQueue::kPatience / 2);
  End(2);
  for (int name = 3; name <= 5; ++name) {
    Enter(name);
  }
  EXPECT_THAT(begun_, ElementsAre(1, 2, 3));
  // The first one hangs.
  timers_.Advance(TeardownQueue::kPatience / 2);
  EXPECT_THAT(begun_, ElementsAre(1, 2, 3, 4));
  timers_.Advance(TeardownQueue::kPatience / 2);
  EXPECT_THAT(begun_, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(TeardownQueueTest, GoesOnAsBeforeWhenOneThatHungEnds) {
  Enter(1);
  Enter(2);
  timers_.Advance(TeardownQueue::kPatience);
  Enter(3);
  Enter(4);
  Enter(5);
  EXPECT_THAT(begun_, ElementsAre(1, 2, 3, 4));
  End(1);
  End(2);
  EXPECT_THAT(begun_, ElementsAre(1, 2, 3, 4));
  End(4);
  EXPECT_THAT(begun_, ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(TeardownQueueTest, PassesOnManyTurnsThatAreNotNeeded) {
  Enter(1);
  Enter(2);
  // Far more than a stack would hold, if each began the next.
  constexpr int kGone = 100'000;
  int passed = 0;
  for (int i = 0; i < kGone; ++i) {
    queue_->Enter([&](const TeardownQueue::Turn&) { ++passed; });
  }
  Enter(3);
  End(1);
  EXPECT_EQ(passed, kGone);
  EXPECT_THAT(begun_, ElementsAre(1, 2, 3));
}

TEST_F(TeardownQueueTest, DropsThoseThatWaitWhenItGoes) {
  Enter(1);
  Enter(2);
  Enter(3);
  EXPECT_EQ(timers_.size(), 1);
  queue_.reset();
  EXPECT_EQ(timers_.size(), 0);
  turns_.clear();
  EXPECT_THAT(begun_, ElementsAre(1, 2));
}

TEST_F(TeardownQueueTest, EndsATurnOnceThoughItIsMoved) {
  Enter(1);
  Enter(2);
  Enter(3);
  Enter(4);
  {
    const TeardownQueue::Turn moved = std::move(turns_.at(1));
    End(1);
    EXPECT_THAT(begun_, ElementsAre(1, 2));
  }
  EXPECT_THAT(begun_, ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace server
