#include "sandbox/supervisor/output_channel.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/output_channel_fixture.h"
#include "sandbox/supervisor/output_quota.h"
#include "sandbox/supervisor/pipe_size.h"
#include "tests/failing_calls.h"
#include "tests/fakes/fake_timers.h"

namespace sandbox {
namespace {

using OutputChannelTest = OutputChannelFixture;

TEST_F(OutputChannelTest, MovesTheOutputIntoTheLog) {
  for (const wire::Stream kind : {wire::STDOUT, wire::TERMINAL}) {
    Open(kind, Overflow::kDropOldest);
    Print(std::string("a\0b", 3));
    loop_->Run();
    EXPECT_EQ(Text(), std::string("a\0b", 3));
    EXPECT_FALSE(channel_->closed());
    command_.Reset();
    channel_->Pump();
    EXPECT_TRUE(channel_->closed());
    EXPECT_TRUE(Log().state()->closed);
    channel_.reset();
    loop_ = *EventLoop::Create();
    quota_ = std::make_unique<OutputQuota>(loop_.get());
  }
}

TEST_F(OutputChannelTest, EnlargesAPipeThatFills) {
  Open(wire::STDOUT, Overflow::kDropOldest, 1 << 20);
  const int size = ::fcntl(command_.get(), F_GETPIPE_SZ);
  Print("text");
  channel_->Pump();
  EXPECT_EQ(::fcntl(command_.get(), F_GETPIPE_SZ), size);
  Print(std::string(size, 'x'));
  channel_->Pump();
  EXPECT_EQ(::fcntl(command_.get(), F_GETPIPE_SZ), kLargePipe);
}

TEST_F(OutputChannelTest, BlocksWritersUntilTheLogHasRoom) {
  Open(wire::STDOUT, Overflow::kBlock);
  size_t printed = 0;
  while (!channel_->blocked()) {
    printed += Print(std::string(1 << 16, 'x'));
    channel_->Pump();
  }
  EXPECT_EQ(Log().state()->end, kRetained);
  while (const size_t more = Print(std::string(1 << 12, 'x'))) {
    printed += more;
  }
  channel_->Acknowledge(kRetained / 2);
  EXPECT_FALSE(channel_->blocked());
  channel_->Pump();
  EXPECT_EQ(Log().state()->end, kRetained / 2 * 3);
  EXPECT_LT(Log().state()->end, printed);
}

TEST_F(OutputChannelTest, DropsTheOldestOutputInsteadOfBlocking) {
  Open(wire::STDOUT, Overflow::kDropOldest);
  size_t printed = 0;
  while (printed < size_t{8} << 20) {
    printed += Print(std::string(1 << 16, 'x'));
    channel_->Pump();
  }
  EXPECT_FALSE(channel_->blocked());
  EXPECT_EQ(Log().state()->end, printed);
  EXPECT_GT(Log().state()->begin, 0u);
}

TEST_F(OutputChannelTest, AsksToKillTheCommandWhenItWritesMoreThanIsKept) {
  Open(wire::STDOUT, Overflow::kKill);
  const std::string data(kRetained, 'x');
  ASSERT_EQ(Print(data), kRetained);
  // A pipe is no larger by default.
  channel_->Pump();
  EXPECT_TRUE(kills_.empty()) << "all of it is kept";
  EXPECT_EQ(channel_->loss(), std::nullopt);
  for (int i = 0; i < 2; ++i) {
    Print("more");
    channel_->Pump();
    EXPECT_EQ(kills_, std::vector{wire::ExitRecord::OUTPUT_LIMIT});
    EXPECT_EQ(channel_->loss(), wire::ExitRecord::OUTPUT_LIMIT);
  }
  EXPECT_FALSE(channel_->blocked());
  command_.Reset();
  channel_->Pump();
  EXPECT_TRUE(channel_->closed());
  EXPECT_EQ(Text(), data);
}

TEST_F(OutputChannelTest, AFullLogThatEndsInTimeIsNoReasonToKill) {
  Open(wire::STDOUT, Overflow::kKill);
  ASSERT_EQ(Print(std::string(kRetained, 'x')), kRetained);
  command_.Reset();
  channel_->Pump();
  EXPECT_TRUE(channel_->closed());
  EXPECT_TRUE(kills_.empty());
}

TEST_F(OutputChannelTest, RetriesWhileTheDiskFails) {
  for (const wire::Stream kind : {wire::STDOUT, wire::TERMINAL}) {
    for (const int error : {ENOSPC, EIO, EROFS, EDQUOT}) {
      Open(kind, Overflow::kDropOldest);
      Print("one");
      ASSERT_TRUE(
          tests::WithFailingCalls({SYS_splice, SYS_pwrite64}, error, [this] {
            channel_->Pump();
            Print("two");
            channel_->Pump();
            command_.Reset();
            channel_->Pump();
          }));
      EXPECT_TRUE(channel_->blocked());
      ASSERT_EQ(failures_.size(), 1u);
      EXPECT_NE(failures_[0], "");
      // The channel recovers by itself, after a while.
      loop_->Run();
      EXPECT_EQ(failures_.back(), "");
      channel_->Pump();
      EXPECT_TRUE(channel_->closed());
      EXPECT_EQ(Text(), "onetwo");
      EXPECT_TRUE(kills_.empty());
      channel_.reset();
      failures_.clear();
      loop_ = *EventLoop::Create();
      quota_ = std::make_unique<OutputQuota>(loop_.get());
    }
  }
}

TEST_F(OutputChannelTest, ReportsNoLossWhenOnlyTheEndOfStreamWasRefused) {
  Open(wire::STDOUT, Overflow::kDropOldest);
  Print("all");
  channel_->Pump();
  command_.Reset();
  ASSERT_TRUE(
      tests::WithFailingCalls({SYS_splice}, EIO, [this] { channel_->Pump(); }));
  EXPECT_EQ(channel_->loss(), wire::ExitRecord::OUTPUT_FAILED);
  channel_->Pump();
  EXPECT_TRUE(channel_->closed());
  EXPECT_EQ(channel_->loss(), std::nullopt);
  EXPECT_EQ(failures_.back(), "");
}

TEST_F(OutputChannelTest, AsksToKillTheCommandWhenTheDiskFails) {
  Open(wire::STDOUT, Overflow::kKill);
  Print("one");
  ASSERT_TRUE(tests::WithFailingCalls({SYS_splice}, EIO, [this] {
    channel_->Pump();
    channel_->Pump();
  }));
  EXPECT_EQ(kills_, std::vector{wire::ExitRecord::OUTPUT_FAILED});
  channel_->Close();
  EXPECT_EQ(storage_.failure(), "") << "nothing is to be written any more";
  EXPECT_EQ(channel_->loss(), wire::ExitRecord::OUTPUT_FAILED);
}

TEST_F(OutputChannelTest, IgnoresOutputAfterItIsClosed) {
  Open(wire::STDOUT, Overflow::kDropOldest);
  Print("before");
  channel_->Pump();
  channel_->Close();
  EXPECT_EQ(Print("after"), 0u);
  EXPECT_EQ(Text(), "before");
  const int changes = changes_;
  channel_->Close();
  channel_->Pump();
  EXPECT_EQ(changes_, changes);
}

TEST_F(OutputChannelTest, ReportsWhatItsLogHoldsAlsoAfterItIsReleased) {
  Open(wire::STDERR, Overflow::kDropOldest);
  EXPECT_EQ(channel_->state().stream(), wire::STDERR);
  Print("text");
  channel_->Pump();
  EXPECT_EQ(channel_->state().end(), 4);
  EXPECT_FALSE(channel_->state().closed());
  channel_->Close();
  channel_->Settle();
  EXPECT_EQ(channel_->state().stream(), wire::STDERR);
  EXPECT_EQ(channel_->state().begin(), 0);
  EXPECT_EQ(channel_->state().end(), 4);
  EXPECT_TRUE(channel_->state().closed());
  EXPECT_FALSE(channel_->state().expired());
  const int changes = changes_;
  EXPECT_TRUE(channel_->Expire(directory_ + "/e1"));
  EXPECT_EQ(changes_, changes + 1);
  EXPECT_TRUE(channel_->state().expired());
  EXPECT_EQ(channel_->state().begin(), 4);
}

TEST_F(OutputChannelTest, ReportsWhatAnAcknowledgementDropped) {
  Open(wire::STDOUT, Overflow::kBlock);
  Print(std::string(kRetained, 'x'));
  channel_->Pump();
  const int changes = changes_;
  channel_->Acknowledge(0);
  EXPECT_EQ(changes_, changes) << "nothing was dropped";
  channel_->Acknowledge(kRetained);
  EXPECT_GT(channel_->state().begin(), 0);
  EXPECT_EQ(changes_, changes + 1);
}

TEST_F(OutputChannelTest, ReportsTheGapInItsLog) {
  Open(wire::STDOUT, Overflow::kHeadAndTail);
  while (channel_->state().gap_end() == 0) {
    Print(std::string(1 << 16, 'x'));
    channel_->Pump();
  }
  EXPECT_EQ(channel_->state().begin(), 0u);
  EXPECT_EQ(channel_->state().gap_begin(), Log().state()->gap_begin);
  EXPECT_EQ(channel_->state().gap_end(), Log().state()->gap_end);
}

TEST_F(OutputChannelTest, ReportsNoDataOfAnExpiredLogThatIsStillWritten) {
  Open(wire::STDOUT, Overflow::kDropOldest);
  Print("text");
  channel_->Pump();
  const int changes = changes_;
  EXPECT_TRUE(channel_->Expire(directory_ + "/e1"));
  EXPECT_EQ(changes_, changes + 1);
  EXPECT_EQ(channel_->state().begin(), 4u);
  EXPECT_EQ(channel_->state().end(), 4u);
  EXPECT_TRUE(channel_->state().expired());
  EXPECT_FALSE(channel_->state().closed());
}

TEST_F(OutputChannelTest, ExpiresALogWhoseFileIsGone) {
  Open(wire::STDOUT, Overflow::kDropOldest);
  channel_->Close();
  ASSERT_EQ(::unlink((directory_ + "/e1").c_str()), 0);
  EXPECT_TRUE(channel_->Expire(directory_ + "/e1"));
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(OutputChannelTest, ReleasesItsLogWhenItIsSettledBeforeItIsClosed) {
  Open(wire::STDOUT, Overflow::kBlock);
  Print("text");
  channel_->Pump();
  channel_->Settle();
  EXPECT_FALSE(channel_->state().closed());
  Print("more");
  channel_->Pump();
  EXPECT_EQ(Text(), "textmore");
  channel_->Close();
  EXPECT_TRUE(channel_->state().closed());
  EXPECT_EQ(channel_->state().end(), 8u);
  // Has no effect on a log that is released.
  const int changes = changes_;
  channel_->Acknowledge(8);
  EXPECT_EQ(changes_, changes);
  EXPECT_EQ(channel_->state().begin(), 0u);
}

TEST_F(OutputChannelTest, ForgetsTheFailureOfItsDiskWhenItIsDestroyed) {
  Open(wire::STDOUT, Overflow::kDropOldest);
  Print("text");
  ASSERT_TRUE(
      tests::WithFailingCalls({SYS_splice}, EIO, [this] { channel_->Pump(); }));
  EXPECT_NE(storage_.failure(), "");
  EXPECT_TRUE(channel_->refused());
  channel_.reset();
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(OutputChannelTest, RetriesEachTimeThatTheDiskFails) {
  tests::FakeTimers timers;
  timers_ = &timers;
  Open(wire::STDOUT, Overflow::kDropOldest);
  Print("text");
  ASSERT_TRUE(tests::WithFailingCalls({SYS_splice}, EIO, [&] {
    channel_->Pump();
    EXPECT_EQ(timers.size(), 1u);
    timers.Advance(absl::Milliseconds(200));
  }));
  EXPECT_EQ(timers.size(), 1u);
  timers.Advance(absl::Milliseconds(200) - absl::Nanoseconds(1));
  EXPECT_TRUE(channel_->refused());
  timers.Advance(absl::Nanoseconds(1));
  EXPECT_FALSE(channel_->refused());
  EXPECT_EQ(Text(), "text");
  EXPECT_EQ(timers.size(), 0u);
  channel_.reset();
}

TEST_F(OutputChannelTest, BlocksATerminalAtItsBound) {
  Open(wire::TERMINAL, Overflow::kBlock);
  for (int i = 0; i < 100; ++i) {
    Print(std::string(1000, 'x'));
    channel_->Pump();
  }
  EXPECT_TRUE(channel_->blocked());
  EXPECT_FALSE(channel_->refused());
  EXPECT_EQ(Log().state()->end, kRetained);
}

TEST_F(OutputChannelTest, ReportsWhatTheQuotaDropped) {
  quota_->SetLimit(1 << 20);
  Open(wire::STDOUT, Overflow::kDropOldest, 1 << 20);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Print(std::string(kRetained, 'x')), kRetained);
    channel_->Pump();
  }
  EXPECT_EQ(channel_->state().begin(), 0u);
  const int changes = changes_;
  // The logs of others.
  quota_->Charge(1 << 20);
  quota_->MakeRoom(nullptr);
  EXPECT_EQ(channel_->state().begin(), kRetained);
  EXPECT_EQ(changes_, changes + 1);
  quota_->Charge(-(1 << 20));
  EXPECT_EQ(quota_->MakeRoom(nullptr), (1 << 20) - kRetained)
      << "the space is free";
}

TEST_F(OutputChannelTest, RetriesNothingOnceItsLogIsReleased) {
  tests::FakeTimers timers;
  timers_ = &timers;
  Open(wire::STDOUT, Overflow::kBlock);
  Print(std::string(kRetained, 'x'));
  channel_->Pump();
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_fallocate}, EIO, [this] { channel_->Acknowledge(kRetained); }));
  EXPECT_EQ(timers.size(), 1u);
  channel_->Close();
  channel_->Settle();
  EXPECT_EQ(timers.size(), 0u);
  channel_.reset();
}

TEST_F(OutputChannelTest, LeavesItsLoopNothingWhenItIsDestroyed) {
  Open(wire::STDOUT, Overflow::kBlock);
  const int source = channel_->source();
  loop_->SetEvents(source, 0);
  channel_.reset();
  EXPECT_DEATH(loop_->SetEvents(source, 0), "is not watched");
}

}  // namespace
}  // namespace sandbox
