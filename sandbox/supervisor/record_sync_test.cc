#include "sandbox/supervisor/record_sync.h"

#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/supervisor/background.h"
#include "sandbox/supervisor/ended_execution_fixture.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/storage_status.h"
#include "tests/fakes/fake_timers.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kGather = absl::Milliseconds(100);
constexpr absl::Duration kRetry = absl::Milliseconds(200);

// Keeps functions until the test runs them.
class HeldBackground final : public Background {
 public:
  explicit HeldBackground(std::deque<Function>* functions)
      : functions_(functions) {}
  ~HeldBackground() override { functions_->clear(); }
  void Run(Function function) override {
    functions_->push_back(std::move(function));
  }

 private:
  std::deque<Function>* const functions_;
};

class RecordSyncTest : public EndedExecutionFixture {
 protected:
  // Does what was handed over to the background, and reports it to the loop.
  void Work() {
    while (!functions_.empty()) {
      functions_.front()();
      functions_.pop_front();
    }
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  tests::FakeTimers timers_;
  std::deque<Background::Function> functions_;
  std::vector<std::string> failures_;
  StorageStatus storage_{[this] { failures_.push_back(storage_.failure()); }};
  std::unique_ptr<RecordSync> sync_ = std::make_unique<RecordSync>(
      loop_.get(), &timers_, &storage_,
      std::make_unique<HeldBackground>(&functions_));
};

TEST_F(RecordSyncTest, RenamesTheEndOfEachOfManyOnceItIsSynced) {
  // One more than a batch.
  constexpr int kCount = 65;
  for (int i = 0; i < kCount; ++i) {
    const ExecutionFiles files = MakeEnded("e" + std::to_string(i));
    sync_->SyncStart(files.directory());
    sync_->SyncEnd(files.directory(), end_);
  }
  timers_.Advance(kGather);
  Work();
  EXPECT_EQ(timers_.size(), 1u) << "the rest is synced in a second batch";
  timers_.Advance(kGather);
  Work();
  for (int i = 0; i < kCount; ++i) {
    EXPECT_TRUE(HasEnd("e" + std::to_string(i))) << i;
  }
  EXPECT_EQ(timers_.size(), 0u);
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(RecordSyncTest, HandsOverAFullBatchAtOnceWhenTheLastOneIsDone) {
  for (int i = 0; i < 2 * 64; ++i) {
    const ExecutionFiles files = MakeEnded("e" + std::to_string(i));
    sync_->SyncEnd(files.directory(), end_);
  }
  timers_.Advance(kGather);
  Work();
  timers_.Advance(absl::ZeroDuration());
  EXPECT_EQ(functions_.size(), 1u);
}

TEST_F(RecordSyncTest, SyncsWhatComesWhileItWorksAfterwards) {
  const ExecutionFiles first = MakeEnded("e1");
  sync_->SyncEnd(first.directory(), end_);
  timers_.Advance(kGather);
  const ExecutionFiles second = MakeEnded("e2");
  sync_->SyncEnd(second.directory(), end_);
  timers_.Advance(kGather);
  EXPECT_EQ(functions_.size(), 1u);
  Work();
  EXPECT_FALSE(HasEnd("e2"));
  timers_.Advance(kGather);
  Work();
  EXPECT_TRUE(HasEnd("e1"));
  EXPECT_TRUE(HasEnd("e2"));
}

TEST_F(RecordSyncTest, ReportsAFailureAndWritesEverythingAgain) {
  const ExecutionFiles files = MakeEnded("e1");
  const std::string obstacle = files.directory() + "/exit.pb";
  ASSERT_EQ(::mkdir(obstacle.c_str(), 0700), 0);
  sync_->SyncEnd(files.directory(), end_);
  timers_.Advance(kGather);
  Work();
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("rename")));
  ASSERT_EQ(::rmdir(obstacle.c_str()), 0);
  // The bytes that the kernel could not write are gone.
  std::ofstream(files.directory() + "/exit.pb.new", std::ios::trunc) << "?";
  timers_.Advance(kRetry - absl::Nanoseconds(1));
  EXPECT_THAT(functions_, IsEmpty());
  timers_.Advance(absl::Nanoseconds(1));
  Work();
  EXPECT_TRUE(HasEnd("e1"));
  EXPECT_EQ(storage_.failure(), "");
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(RecordSyncTest, KeepsAnEndThatCameWhileTheStartFailed) {
  const ExecutionFiles files = MakeEnded("e1");
  const std::string start = files.directory() + "/start.pb";
  ASSERT_EQ(::rename(start.c_str(), (start + ".away").c_str()), 0);
  ASSERT_EQ(::mkdir(start.c_str(), 0700), 0);
  sync_->SyncStart(files.directory());
  timers_.Advance(kGather);
  sync_->SyncEnd(files.directory(), end_);
  Work();
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("start.pb")));
  ASSERT_EQ(::rmdir(start.c_str()), 0);
  ASSERT_EQ(::rename((start + ".away").c_str(), start.c_str()), 0);
  timers_.Advance(kRetry);
  Work();
  EXPECT_TRUE(HasEnd("e1"));
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(RecordSyncTest, TriesAFailedEndAgainWithItsContent) {
  const ExecutionFiles files = MakeEnded("e1");
  const std::string obstacle = files.directory() + "/exit.pb";
  ASSERT_EQ(::mkdir(obstacle.c_str(), 0700), 0);
  sync_->SyncEnd(files.directory(), end_);
  timers_.Advance(kGather);
  // Does not take the end away.
  sync_->SyncStart(files.directory());
  Work();
  ASSERT_EQ(::rmdir(obstacle.c_str()), 0);
  timers_.Advance(kRetry);
  Work();
  EXPECT_TRUE(HasEnd("e1"));
}

TEST_F(RecordSyncTest, LeavesAloneWhatIsDeletedBeforeOrAfterItsHandOver) {
  for (const bool handed_over : {false, true}) {
    ExecutionFiles deleted = MakeEnded("e1");
    const std::string directory = deleted.directory();
    sync_->SyncEnd(directory, end_);
    // Another job is there, so that something is handed over in either case.
    const ExecutionFiles other = MakeEnded("e2");
    sync_->SyncEnd(other.directory(), end_);
    if (handed_over) {
      timers_.Advance(kGather);
    }
    sync_->Cancel(directory);
    ASSERT_TRUE(deleted.Remove().ok());
    // Another execution gets its name and has written its end.
    ExecutionFiles again = MakeEnded("e1");
    timers_.Advance(kGather);
    Work();
    EXPECT_TRUE(HasEnd("e2"));
    EXPECT_FALSE(HasEnd("e1"));
    EXPECT_THAT(failures_, IsEmpty());
    EXPECT_EQ(timers_.size(), 0u);
    // It is not cancelled itself.
    sync_->SyncEnd(directory, end_);
    timers_.Advance(kGather);
    Work();
    EXPECT_TRUE(HasEnd("e1"));
    std::filesystem::remove_all(parent_ + "/e1");
    std::filesystem::remove_all(parent_ + "/e2");
  }
}

TEST_F(RecordSyncTest, ForgetsTheFailureOfWhatIsDeleted) {
  for (const bool handed_over : {false, true}) {
    const ExecutionFiles files = MakeEnded("e1");
    ASSERT_EQ(::mkdir((files.directory() + "/exit.pb").c_str(), 0700), 0);
    sync_->SyncEnd(files.directory(), end_);
    timers_.Advance(kGather);
    Work();
    EXPECT_NE(storage_.failure(), "");
    if (handed_over) {
      timers_.Advance(kRetry);
    }
    sync_->Cancel(files.directory());
    EXPECT_EQ(storage_.failure(), "");
    Work();
    EXPECT_EQ(storage_.failure(), "");
    // Nothing is tried again.
    timers_.Advance(kRetry);
    EXPECT_THAT(functions_, IsEmpty());
    std::filesystem::remove_all(files.directory());
  }
}

TEST_F(RecordSyncTest, IgnoresAnExecutionWhoseFilesAreGone) {
  const ExecutionFiles files = MakeEnded("e1");
  sync_->SyncEnd(files.directory(), end_);
  timers_.Advance(kGather);
  std::filesystem::remove_all(files.directory());
  Work();
  EXPECT_THAT(failures_, IsEmpty());
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(RecordSyncTest, SyncsNothingAfterStop) {
  const ExecutionFiles first = MakeEnded("e1");
  sync_->SyncEnd(first.directory(), end_);
  timers_.Advance(kGather);
  const ExecutionFiles second = MakeEnded("e2");
  sync_->SyncEnd(second.directory(), end_);
  sync_->Stop();
  EXPECT_EQ(timers_.size(), 0u);
  Work();
  EXPECT_FALSE(HasEnd("e1"));
  EXPECT_TRUE(HasEnd("e1", "exit.pb.new"));
}

TEST_F(RecordSyncTest, EndsWithWorkThatWasNotDone) {
  const ExecutionFiles files = MakeEnded("e1");
  sync_->SyncEnd(files.directory(), end_);
  timers_.Advance(kGather);
  EXPECT_EQ(functions_.size(), 1u);
  sync_.reset();
  EXPECT_THAT(functions_, IsEmpty());
  EXPECT_EQ(timers_.size(), 0u);
  EXPECT_TRUE(HasEnd("e1", "exit.pb.new"));
}

}  // namespace
}  // namespace sandbox
