#include "server/core/directory_sync.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

TEST(DirectorySyncTest, SyncsADirectory) {
  DirectorySync sync(::testing::TempDir());
  EXPECT_THAT(sync.Sync(), IsOk());
}

TEST(DirectorySyncTest, NamesADirectoryThatIsNotThere) {
  DirectorySync sync(std::string("/none"));
  EXPECT_THAT(sync.Sync(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("fsync /none")));
}

// A disk whose turns end when AllowTo() allows it.
class SlowDisk {
 public:
  absl::Status Flush() {
    sandbox::MutexLock lock(&mutex_);
    const int mine = ++begun_;
    mutex_.Signal();
    mutex_.Await([&] { return allowed_ >= mine; });
    return mine == 2 ? absl::DataLossError("the disk is broken")
                     : absl::OkStatus();
  }
  void AwaitFlush(int number) {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await([&] { return begun_ >= number; });
  }
  void AllowTo(int number) {
    sandbox::MutexLock lock(&mutex_);
    allowed_ = number;
    mutex_.Signal();
  }
  int begun() {
    sandbox::MutexLock lock(&mutex_);
    return begun_;
  }

 private:
  sandbox::Mutex mutex_;
  int begun_ = 0;
  int allowed_ = 0;
};

TEST(DirectorySyncTest, CallsThatWaitShareTheNextTurnAndItsAnswer) {
  SlowDisk disk;
  DirectorySync sync([&] { return disk.Flush(); });
  std::thread first([&] { EXPECT_THAT(sync.Sync(), IsOk()); });
  disk.AwaitFlush(1);
  std::vector<std::thread> others;
  for (int i = 0; i < 5; ++i) {
    others.emplace_back([&] {
      EXPECT_THAT(sync.Sync(),
                  StatusIs(absl::StatusCode::kDataLoss, "the disk is broken"));
    });
  }
  while (sync.waiting() < 5) {
    std::this_thread::yield();
  }
  disk.AllowTo(1);
  disk.AwaitFlush(2);
  disk.AllowTo(2);
  first.join();
  for (std::thread& other : others) {
    other.join();
  }
  EXPECT_EQ(disk.begun(), 2);
  disk.AllowTo(3);
  EXPECT_THAT(sync.Sync(), IsOk()) << "a turn of its own";
}

}  // namespace
}  // namespace server
