#include "sandbox/supervisor/end_writer.h"

#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/supervisor/background.h"
#include "sandbox/supervisor/execution_files.h"
#include "sandbox/supervisor/held_background.h"
#include "sandbox/supervisor/record_sync.h"
#include "sandbox/supervisor/storage_status.h"
#include "tests/failing_calls.h"
#include "tests/fakes/fake_timers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kRetry = absl::Milliseconds(200);
// The wait of RecordSync.
constexpr absl::Duration kGather = absl::Milliseconds(100);

class EndWriterTest : public ::testing::Test {
 protected:
  EndWriterTest() {
    std::string path = ::testing::TempDir() + "/endXXXXXX";
    files_ = *ExecutionFiles::Create(::mkdtemp(path.data()), "e1");
  }
  void Write(int wait_status) {
    wire::ExecutionRecord end;
    end.set_id("e1");
    end.mutable_exit()->set_wait_status(wait_status);
    writer_->Write(end);
  }
  void WithFullDisk(const std::function<void()>& function) {
    ASSERT_TRUE(tests::WithFailingCalls({SYS_pwrite64}, ENOSPC, function));
  }
  // The wait status on disk, -1: there is no record.
  int OnDisk() const {
    wire::ExecutionRecord end;
    return ExecutionRecords::Open(files_.path())->ReadEnd(&end).ok()
               ? end.exit().wait_status()
               : -1;
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  tests::FakeTimers timers_;
  tests::FakeTimers sync_timers_;
  StorageStatus storage_{[] {}};
  std::deque<Background::Function> functions_;
  RecordSync sync_{loop_.get(), &sync_timers_, &storage_,
                   std::make_unique<HeldBackground>(&functions_)};
  ExecutionFiles files_;
  int written_ = 0;
  std::unique_ptr<EndWriter> writer_ = std::make_unique<EndWriter>(
      &timers_, &storage_, &sync_, &files_, [this] { ++written_; });
};

TEST_F(EndWriterTest, WritesAtOnceAndHasItSynced) {
  Write(1);
  EXPECT_EQ(written_, 1);
  EXPECT_EQ(OnDisk(), 1);
  EXPECT_EQ(timers_.size(), 0u);
  EXPECT_EQ(sync_timers_.size(), 1u);
}

TEST_F(EndWriterTest, HasAnEndMarkedOnlyIfOutputMayStillCome) {
  for (const bool open : {false, true}) {
    wire::ExecutionRecord end;
    end.set_id("e1");
    end.mutable_exit()->set_output_open(open);
    std::string path = ::testing::TempDir() + "/markXXXXXX";
    files_ = *ExecutionFiles::Create(::mkdtemp(path.data()), "e1");
    writer_->Write(end);
    sync_timers_.Advance(kGather);
    functions_.front()();
    functions_.pop_front();
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
    EXPECT_EQ(ExecutionRecords::Open(files_.path())->synced(), open);
  }
}

TEST_F(EndWriterTest, RetriesUntilTheDiskTakesIt) {
  WithFullDisk([&] {
    Write(1);
    timers_.Advance(kRetry);
  });
  EXPECT_EQ(written_, 0);
  EXPECT_THAT(storage_.failure(), HasSubstr("end of e1"));
  EXPECT_EQ(sync_timers_.size(), 0u);
  timers_.Advance(kRetry - absl::Nanoseconds(1));
  EXPECT_EQ(written_, 0);
  timers_.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(written_, 1);
  EXPECT_EQ(OnDisk(), 1);
  EXPECT_EQ(storage_.failure(), "");
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(EndWriterTest, ALaterRecordReplacesOneThatIsNotWritten) {
  WithFullDisk([&] { Write(1); });
  Write(2);
  EXPECT_EQ(OnDisk(), 2);
  EXPECT_EQ(written_, 1);
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(EndWriterTest, WritesNothingAfterStop) {
  WithFullDisk([&] { Write(1); });
  writer_->Stop();
  timers_.Advance(kRetry);
  EXPECT_EQ(OnDisk(), -1);
  EXPECT_NE(storage_.failure(), "");
  writer_.reset();
  EXPECT_EQ(storage_.failure(), "");
}

}  // namespace
}  // namespace sandbox
