#include "server/runtime/heap_trim.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// The memory of this process.
int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  file >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST_F(HeapTrimTest, GivesFreedMemoryBackToTheKernel) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  HeapTrim heap(&timers_, &lane_);
  // 64 MB, in blocks that the allocator does not map one by one.
  constexpr size_t kBlocks = 1000;
  std::vector<std::unique_ptr<std::string>> blocks;
  for (size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(std::make_unique<std::string>(64 << 10, 'x'));
  }
  // The last block lies above the others, which the allocator so keeps.
  const std::unique_ptr<std::string> last = std::move(blocks.back());
  blocks.clear();
  const int64_t before = ResidentBytes();
  for (int i = 0; i < HeapTrim::kRecords; ++i) {
    heap.OnFreed();
  }
  timers_.Advance(HeapTrim::kDelay);
  lane_.AwaitIdle();
  EXPECT_LT(ResidentBytes(), before - (50 << 20));
}

}  // namespace
}  // namespace server
