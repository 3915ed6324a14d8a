#include "server/runtime/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace server {
namespace {

using ::testing::ElementsAre;

TEST(WorkerPool, BeginsJobsInTheOrderInWhichTheyCame) {
  std::vector<int> order;
  WorkerPool pool(1);
  for (const int job : {1, 2, 3}) {
    pool.Run([&order, job] { order.push_back(job); });
  }
  pool.Stop();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(WorkerPool, RunsAnUrgentJobBeforeThoseThatWait) {
  std::promise<void> gate;
  std::future<void> open = gate.get_future();
  std::vector<int> order;
  WorkerPool pool(1);
  pool.Run([&] { open.wait(); });
  pool.Run([&] { order.push_back(1); });
  pool.RunNext([&] { order.push_back(2); });
  gate.set_value();
  pool.Stop();
  EXPECT_THAT(order, ElementsAre(2, 1));
}

TEST(WorkerPool, RunsAsManyJobsAtATimeAsItHasThreads) {
  std::promise<void> first_runs;
  std::promise<void> second_runs;
  std::future<void> first = first_runs.get_future();
  std::future<void> second = second_runs.get_future();
  WorkerPool pool(2);
  // Each waits for the other, so that one thread would hang.
  pool.Run([&] {
    first_runs.set_value();
    second.wait();
  });
  pool.Run([&] {
    second_runs.set_value();
    first.wait();
  });
  pool.AwaitIdle();
}

TEST(WorkerPool, RunsOtherJobsWhileAsManyAsItRunsAtATimeHang) {
  std::promise<void> gate;
  std::future<void> open = gate.get_future();
  WorkerPool pool(2, std::chrono::milliseconds(1));
  const auto hang = [open = open.share()] { open.wait(); };
  for (size_t i = 0; i < WorkerPool::kMostHanging; ++i) {
    pool.Run(hang);
  }
  std::promise<void> ran;
  pool.Run([&] { ran.set_value(); });
  ran.get_future().wait();
  gate.set_value();
}

TEST(WorkerPool, RunsNoMoreJobsAtATimeThanItMayWhenNoneHangs) {
  std::promise<void> begun;
  std::promise<void> gate;
  std::future<void> open = gate.get_future();
  bool second_began = false;
  WorkerPool pool(1);
  pool.Run([&] {
    begun.set_value();
    open.wait();
    EXPECT_FALSE(second_began);
  });
  begun.get_future().wait();
  pool.Run([&] { second_began = true; });
  gate.set_value();
  pool.AwaitIdle();
}

TEST(WorkerPool, StopReturnsWhenQueuedJobsHaveRunAndDropsLaterOnes) {
  std::promise<void> gate;
  std::future<void> open = gate.get_future();
  int done = 0;
  WorkerPool pool(1);
  pool.Run([&] { open.wait(); });
  pool.Run([&] { ++done; });
  gate.set_value();
  pool.Stop();
  EXPECT_EQ(done, 1);
  pool.Run([&] { ++done; });
  pool.Stop();
  EXPECT_EQ(done, 1);
}

TEST(WorkerPool, IsIdleOnlyWhenTheRunningJobHasReturned) {
  std::promise<void> begun;
  std::promise<void> gate;
  std::future<void> open = gate.get_future();
  bool returned = false;
  WorkerPool pool(1);
  pool.Run([&] {
    begun.set_value();
    open.wait();
    returned = true;
  });
  begun.get_future().wait();
  std::thread opener([&] { gate.set_value(); });
  pool.AwaitIdle();
  EXPECT_TRUE(returned);
  opener.join();
}

size_t CountThreads() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(threads), end(threads)));
}

TEST(WorkerPool, HasOneThreadMoreThanItRunsJobs) {
  const size_t others = CountThreads();
  WorkerPool pool(2);
  EXPECT_EQ(CountThreads(), others + 3);
  pool.Run([] {});
  pool.AwaitIdle();
  EXPECT_EQ(CountThreads(), others + 3);
}

TEST(WorkerPool, NeverRunsTwoJobsAtATimeThatMayRunOne) {
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  WorkerPool pool(1);
  for (int i = 0; i < 20'000; ++i) {
    pool.Run([&] {
      most = std::max<int>(most, ++running);
      --running;
    });
  }
  pool.AwaitIdle();
  EXPECT_EQ(most, 1);
}

TEST(WorkerPool, IsIdleOnlyWhenWhatTheJobOwnsIsDestroyed) {
  // Its destructor takes until the gate opens.
  struct Slow {
    ~Slow() {
      begun.set_value();
      open.wait();
      *destroyed = true;
    }
    std::promise<void>& begun;
    std::future<void>& open;
    bool* destroyed;
  };
  std::promise<void> begun;
  std::promise<void> gate;
  std::future<void> open = gate.get_future();
  bool destroyed = false;
  WorkerPool pool(1);
  pool.Run(
      [slow = std::unique_ptr<Slow>(new Slow{begun, open, &destroyed})] {});
  begun.get_future().wait();
  std::thread opener([&] { gate.set_value(); });
  pool.AwaitIdle();
  EXPECT_TRUE(destroyed);
  opener.join();
}

TEST(WorkerPool, HasNoMoreThreadsThanJobsThatMayHang) {
  constexpr size_t kMost = 1 + WorkerPool::kMostHanging;
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  std::promise<void> all_run;
  std::atomic<size_t> begun = 0;
  const size_t others = CountThreads();
  WorkerPool pool(1, std::chrono::milliseconds(1));
  for (size_t i = 0; i < kMost; ++i) {
    pool.Run([&] {
      if (++begun == kMost) {
        all_run.set_value();
      }
      open.wait();
    });
  }
  all_run.get_future().wait();
  EXPECT_LE(CountThreads(), others + kMost);
  gate.set_value();
}

TEST(WorkerPool, KeepsNoJobAfterItHasStopped) {
  WorkerPool pool(1);
  pool.Stop();
  auto owned = std::make_shared<int>();
  const std::weak_ptr<int> first = owned;
  pool.Run([kept = std::move(owned)] {});
  EXPECT_TRUE(first.expired());
  owned = std::make_shared<int>();
  const std::weak_ptr<int> second = owned;
  pool.RunNext([kept = std::move(owned)] {});
  EXPECT_TRUE(second.expired());
}

}  // namespace
}  // namespace server
