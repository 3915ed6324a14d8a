// Executions without output.

#include <sys/syscall.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/record_sync.h"
#include "sandbox/supervisor/record_sync_fixture.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using RecordSyncSilentTest = RecordSyncFixture;

TEST_F(RecordSyncSilentTest, SyncsAnEndWithoutOutputWithoutAMark) {
  int synced = 0;
  sync_->OnSynced([&](const std::string&) { ++synced; });
  const ExecutionFiles files = MakeEnded("e1", "");
  sync_->SyncEnd(files.path(), end_, std::move(file_));
  timers_.Advance(kGather);
  ASSERT_TRUE(WorkWhileFailing(SYS_fsync));
  EXPECT_EQ(synced, 0) << "it has no name on the disk";
  timers_.Advance(kRetry);
  Work();
  EXPECT_EQ(synced, 1);
  EXPECT_FALSE(IsSynced("e1"));
}

TEST_F(RecordSyncSilentTest, MarksAnEndWhoseOutputMayStillCome) {
  const ExecutionFiles files = MakeEnded("e1", "");
  sync_->SyncEnd(files.path(), end_);
  timers_.Advance(kGather);
  Work();
  EXPECT_TRUE(IsSynced("e1"));
}

TEST_F(RecordSyncSilentTest, HoldsTheFilesOfOneBatchOpen) {
  std::vector<std::weak_ptr<const ExecutionFile>> held;
  for (int i = 0; i < 2 * 64; ++i) {
    const ExecutionFiles files = MakeEnded("e" + std::to_string(i), "");
    held.emplace_back(file_);
    sync_->SyncEnd(files.path(), end_, std::move(file_));
  }
  const auto open = [&held] {
    return std::count_if(held.begin(), held.end(),
                         [](const auto& file) { return !file.expired(); });
  };
  EXPECT_EQ(open(), 64);
  int synced = 0;
  sync_->OnSynced([&](const std::string&) { ++synced; });
  timers_.Advance(kGather);
  Work();
  timers_.Advance(kGather);
  Work();
  EXPECT_EQ(synced, 2 * 64);
  EXPECT_EQ(open(), 0);
}

TEST_F(RecordSyncSilentTest, ReportsThatAnEndWithoutOutputIsNotSynced) {
  int synced = 0;
  sync_->OnSynced([&](const std::string&) { ++synced; });
  const ExecutionFiles files = MakeEnded("e1", "");
  sync_->SyncEnd(files.path(), end_, std::move(file_));
  timers_.Advance(kGather);
  ASSERT_TRUE(WorkWhileFailing(SYS_fdatasync));
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("fdatasync")));
  EXPECT_EQ(synced, 0);
  timers_.Advance(kRetry);
  Work();
  EXPECT_EQ(storage_.failure(), "");
  EXPECT_EQ(synced, 1);
}

}  // namespace
}  // namespace sandbox
