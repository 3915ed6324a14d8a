#include "sandbox/supervisor/record_sync.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_layout.h"
#include "sandbox/supervisor/background.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/record_sync_fixture.h"
#include "tests/failing_calls.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Has begun the function that it was given when it is destroyed.
class BusyBackground final : public Background {
 public:
  ~BusyBackground() override { function_(); }
  void Run(Function function) override { function_ = std::move(function); }

 private:
  Function function_;
};

using RecordSyncTest = RecordSyncFixture;

TEST_F(RecordSyncTest, MarksTheEndOfEachOfManyOnceItIsSynced) {
  // One more than a batch.
  constexpr int kCount = 65;
  for (int i = 0; i < kCount; ++i) {
    const ExecutionFiles files = MakeEnded("e" + std::to_string(i));
    sync_->SyncStart(files.path());
    sync_->SyncEnd(files.path(), end_);
  }
  timers_.Advance(kGather);
  Work();
  EXPECT_EQ(timers_.size(), 1u) << "the rest is synced in a second batch";
  timers_.Advance(kGather);
  Work();
  for (int i = 0; i < kCount; ++i) {
    EXPECT_TRUE(IsSynced("e" + std::to_string(i))) << i;
  }
  EXPECT_EQ(timers_.size(), 0u);
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(RecordSyncTest, ReportsEachEndThatIsSynced) {
  std::vector<std::string> synced;
  sync_->OnSynced([&](const std::string& path) { synced.push_back(path); });
  const ExecutionFiles ended = MakeEnded("ended");
  sync_->SyncStart(MakeEnded("started").path());
  timers_.Advance(2 * kTerm);
  sync_->SyncEnd(ended.path(), end_);
  const ExecutionFiles cancelled = MakeEnded("cancelled");
  sync_->SyncEnd(cancelled.path(), end_);
  const ExecutionFiles failed = MakeEnded("failed");
  sync_->SyncEnd(failed.path(), end_);
  Obstruct("failed");
  timers_.Advance(kGather);
  sync_->Cancel(cancelled.path());
  Work();
  EXPECT_THAT(synced, ElementsAre(ended.path()));
  Restore("failed");
  timers_.Advance(kRetry);
  Work();
  EXPECT_THAT(synced, ElementsAre(ended.path(), failed.path()));
}

TEST_F(RecordSyncTest, HandsOverAFullBatchAtOnceWhenTheLastOneIsDone) {
  for (int i = 0; i < 2 * 64; ++i) {
    const ExecutionFiles files = MakeEnded("e" + std::to_string(i));
    sync_->SyncEnd(files.path(), end_);
  }
  timers_.Advance(kGather);
  Work();
  timers_.Advance(absl::ZeroDuration());
  EXPECT_EQ(functions_.size(), 1u);
}

TEST_F(RecordSyncTest, SyncsWhatComesWhileItWorksAfterwards) {
  const ExecutionFiles first = MakeEnded("e1");
  sync_->SyncEnd(first.path(), end_);
  timers_.Advance(kGather);
  const ExecutionFiles second = MakeEnded("e2");
  sync_->SyncEnd(second.path(), end_);
  timers_.Advance(kGather);
  EXPECT_EQ(functions_.size(), 1u);
  Work();
  timers_.Advance(kGather - absl::Nanoseconds(1));
  EXPECT_THAT(functions_, IsEmpty());
  EXPECT_FALSE(IsSynced("e2"));
  timers_.Advance(absl::Nanoseconds(1));
  Work();
  EXPECT_TRUE(IsSynced("e1"));
  EXPECT_TRUE(IsSynced("e2"));
}

TEST_F(RecordSyncTest, ReportsAFailureAndWritesEverythingAgain) {
  const ExecutionFiles files = MakeEnded("e1");
  Obstruct("e1");
  sync_->SyncEnd(files.path(), end_);
  timers_.Advance(kGather);
  Work();
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("e1")));
  Restore("e1");
  // The bytes that the kernel could not write are gone.
  const UniqueFd file(::open(files.path().c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), "?", 1, kEndPlace.position), 1);
  timers_.Advance(kRetry - absl::Nanoseconds(1));
  EXPECT_THAT(functions_, IsEmpty());
  timers_.Advance(absl::Nanoseconds(1));
  Work();
  EXPECT_TRUE(HasEnd("e1"));
  EXPECT_TRUE(IsSynced("e1"));
  EXPECT_EQ(storage_.failure(), "");
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(RecordSyncTest, MarksNothingBeforeTheNamesAreSynced) {
  const ExecutionFiles files = MakeEnded("e1");
  sync_->SyncEnd(files.path(), end_);
  timers_.Advance(kGather);
  ASSERT_TRUE(WorkWhileFailing(SYS_fsync));
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("fsync")));
  EXPECT_FALSE(IsSynced("e1"));
  timers_.Advance(kRetry);
  Work();
  EXPECT_TRUE(IsSynced("e1"));
}

TEST_F(RecordSyncTest, SyncsTheStartOfACommandThatGoesOn) {
  const ExecutionFiles files = MakeEnded("e1");
  sync_->SyncStart(files.path());
  timers_.Advance(2 * kTerm - absl::Nanoseconds(1));
  EXPECT_THAT(functions_, IsEmpty());
  timers_.Advance(absl::Nanoseconds(1) + kGather);
  EXPECT_EQ(functions_.size(), 1u);
  Work();
  EXPECT_THAT(failures_, IsEmpty());
  EXPECT_FALSE(IsSynced("e1")) << "it has no end";
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(RecordSyncTest, SyncsAStartInTimeThoughOthersStartAndEndMeanwhile) {
  const ExecutionFiles files = MakeEnded("long");
  const ExecutionFiles other = MakeEnded("short");
  // The long one starts in the middle of a term.
  sync_->SyncStart(other.path());
  timers_.Advance(kTerm / 2);
  sync_->SyncStart(files.path());
  absl::Duration waited;
  while (functions_.empty() && waited < absl::Seconds(10)) {
    sync_->Cancel(other.path());
    sync_->SyncStart(other.path());
    timers_.Advance(kGather);
    waited += kGather;
  }
  EXPECT_GE(waited, kTerm);
  EXPECT_LE(waited, 2 * kTerm + kGather);
  Work();
}

TEST_F(RecordSyncTest, ForgetsStartsWhenItStops) {
  sync_->SyncStart(MakeEnded("e1").path());
  sync_->Stop();
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(RecordSyncTest, SyncsOnceWhatEndsSoon) {
  const ExecutionFiles ended = MakeEnded("e1");
  const ExecutionFiles deleted = MakeEnded("e2");
  sync_->SyncStart(ended.path());
  sync_->SyncStart(deleted.path());
  timers_.Advance(kTerm);
  sync_->Cancel(deleted.path());
  sync_->SyncEnd(ended.path(), end_);
  timers_.Advance(kGather);
  EXPECT_EQ(functions_.size(), 1u);
  Work();
  EXPECT_TRUE(IsSynced("e1"));
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(RecordSyncTest, KeepsAnEndThatCameWhileTheStartFailed) {
  const ExecutionFiles files = MakeEnded("e1");
  Obstruct("e1");
  sync_->SyncStart(files.path());
  timers_.Advance(2 * kTerm + kGather);
  sync_->SyncEnd(files.path(), end_);
  Work();
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("e1")));
  Restore("e1");
  timers_.Advance(kRetry);
  Work();
  EXPECT_TRUE(IsSynced("e1"));
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(RecordSyncTest, TriesAFailedEndAgainWithItsContent) {
  const ExecutionFiles files = MakeEnded("e1");
  Obstruct("e1");
  sync_->SyncEnd(files.path(), end_);
  timers_.Advance(kGather);
  // Does not take the end away.
  sync_->SyncStart(files.path());
  timers_.Advance(2 * kTerm);
  Work();
  Restore("e1");
  timers_.Advance(kRetry);
  Work();
  EXPECT_TRUE(IsSynced("e1"));
}

TEST_F(RecordSyncTest, LeavesAloneWhatIsDeletedBeforeOrAfterItsHandOver) {
  for (const bool handed_over : {false, true}) {
    ExecutionFiles deleted = MakeEnded("e1");
    const std::string path = deleted.path();
    sync_->SyncEnd(path, end_);
    // Another job is there, so that something is handed over in either case.
    const ExecutionFiles other = MakeEnded("e2");
    sync_->SyncEnd(other.path(), end_);
    if (handed_over) {
      timers_.Advance(kGather);
    }
    sync_->Cancel(path);
    ASSERT_TRUE(deleted.Remove({}).ok());
    // Another execution gets its name and has written its end.
    ExecutionFiles again = MakeEnded("e1");
    timers_.Advance(kGather);
    Work();
    EXPECT_TRUE(IsSynced("e2"));
    EXPECT_FALSE(IsSynced("e1"));
    EXPECT_THAT(failures_, IsEmpty());
    EXPECT_EQ(timers_.size(), 0u);
    // It is not cancelled itself.
    sync_->SyncEnd(path, end_);
    timers_.Advance(kGather);
    Work();
    EXPECT_TRUE(IsSynced("e1"));
    std::filesystem::remove_all(parent_ + "/e1");
    std::filesystem::remove_all(parent_ + "/e2");
  }
}

TEST_F(RecordSyncTest, ForgetsTheFailureOfWhatIsDeleted) {
  for (const bool handed_over : {false, true}) {
    const ExecutionFiles files = MakeEnded("e1");
    Obstruct("e1");
    sync_->SyncEnd(files.path(), end_);
    timers_.Advance(kGather);
    Work();
    EXPECT_NE(storage_.failure(), "");
    if (handed_over) {
      timers_.Advance(kRetry);
    }
    sync_->Cancel(files.path());
    EXPECT_EQ(storage_.failure(), "");
    Work();
    EXPECT_EQ(storage_.failure(), "");
    // Nothing is tried again.
    timers_.Advance(kRetry);
    EXPECT_THAT(functions_, IsEmpty());
    std::filesystem::remove_all(parent_ + "/e1");
    std::filesystem::remove(parent_ + "/e1.away");
  }
}

TEST_F(RecordSyncTest, IgnoresAnExecutionWhoseFilesAreGone) {
  const ExecutionFiles files = MakeEnded("e1");
  sync_->SyncEnd(files.path(), end_);
  timers_.Advance(kGather);
  std::filesystem::remove_all(files.path());
  Work();
  EXPECT_THAT(failures_, IsEmpty());
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(RecordSyncTest, SyncsNothingAfterStop) {
  const ExecutionFiles first = MakeEnded("e1");
  sync_->SyncEnd(first.path(), end_);
  timers_.Advance(kGather);
  const ExecutionFiles second = MakeEnded("e2");
  sync_->SyncEnd(second.path(), end_);
  sync_->Stop();
  EXPECT_EQ(timers_.size(), 0u);
  Work();
  EXPECT_FALSE(IsSynced("e1"));
  EXPECT_FALSE(IsSynced("e2"));
  EXPECT_EQ(timers_.size(), 0u) << "nothing is handed over later";
}

TEST_F(RecordSyncTest, WaitsForNothingAfterStop) {
  const ExecutionFiles files = MakeEnded("e1");
  sync_->SyncEnd(files.path(), end_);
  EXPECT_EQ(timers_.size(), 1u);
  sync_->Stop();
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(RecordSyncTest, EndsWithWorkThatWasNotDone) {
  const ExecutionFiles files = MakeEnded("e1");
  sync_->SyncEnd(files.path(), end_);
  timers_.Advance(kGather);
  EXPECT_EQ(functions_.size(), 1u);
  sync_.reset();
  EXPECT_THAT(functions_, IsEmpty());
  EXPECT_EQ(timers_.size(), 0u);
  EXPECT_FALSE(IsSynced("e1"));
}

TEST_F(RecordSyncTest, SyncsNothingMoreOnceItsEndHasBegun) {
  sync_ = std::make_unique<RecordSync>(loop_.get(), &timers_, &storage_,
                                       std::make_unique<BusyBackground>());
  const ExecutionFiles files = MakeEnded("e1");
  sync_->SyncEnd(files.path(), end_);
  timers_.Advance(kGather);
  sync_.reset();
  EXPECT_FALSE(IsSynced("e1"));
}

TEST_F(RecordSyncTest, IsNotDelayedByExecutionsThatFollow) {
  const ExecutionFiles first = MakeEnded("e1");
  sync_->SyncEnd(first.path(), end_);
  timers_.Advance(kGather / 2);
  const ExecutionFiles second = MakeEnded("e2");
  sync_->SyncStart(second.path());
  sync_->SyncEnd(second.path(), end_);
  timers_.Advance(kGather / 2);
  Work();
  EXPECT_TRUE(IsSynced("e1"));
  EXPECT_TRUE(IsSynced("e2"));
}

TEST_F(RecordSyncTest, GivesEachItsTurnHoweverManyOthersComeAgain) {
  // One more than a batch, in the order of their names.
  std::vector<ExecutionFiles> all;
  for (int i = 10; i < 75; ++i) {
    all.push_back(MakeEnded("e" + std::to_string(i)));
    sync_->SyncEnd(all.back().path(), end_);
  }
  timers_.Advance(kGather);
  for (const ExecutionFiles& files : all) {
    sync_->SyncEnd(files.path(), end_);
  }
  Work();
  EXPECT_TRUE(IsSynced("e10"));
  EXPECT_FALSE(IsSynced("e74"));
  timers_.Advance(absl::ZeroDuration());
  Work();
  EXPECT_TRUE(IsSynced("e74"));
}

}  // namespace
}  // namespace sandbox
