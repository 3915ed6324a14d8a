#include "server/runtime/heap_trim.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/runtime/worker_pool.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

class HeapTrimTest : public ::testing::Test {
 protected:
  void Free(int records) {
    for (int i = 0; i < records; ++i) {
      heap_.OnFreed();
    }
  }
  int CountTrims() {
    timers_.Advance(HeapTrim::kDelay);
    lane_.AwaitIdle();
    return trims_;
  }

  tests::FakeTimerQueue timers_;
  int trims_ = 0;
  WorkerPool lane_{1};
  HeapTrim heap_{&timers_, &lane_, [this] { ++trims_; }};
};

TEST_F(HeapTrimTest, TrimsOnceAfterManyRecordsWereFreed) {
  Free(HeapTrim::kRecords - 1);
  EXPECT_EQ(CountTrims(), 0);
  Free(10 * HeapTrim::kRecords);
  timers_.Advance(HeapTrim::kDelay - absl::Nanoseconds(1));
  lane_.AwaitIdle();
  EXPECT_EQ(trims_, 0);
  EXPECT_EQ(CountTrims(), 1);
  Free(HeapTrim::kRecords);
  EXPECT_EQ(CountTrims(), 2);
}

}  // namespace
}  // namespace server
