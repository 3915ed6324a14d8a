#include "sandbox/supervisor/output_channel.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sandbox/output_log.h"
#include "sandbox/supervisor/output_quota.h"
#include "sandbox/supervisor/storage_status.h"
#include "tests/failing_calls.h"

namespace sandbox {
namespace {

constexpr uint64_t kRetained = 1 << 16;

class OutputChannelTest : public ::testing::Test {
 protected:
  void Open(wire::Stream kind, Overflow overflow,
            uint64_t retained = kRetained) {
    ::signal(SIGPIPE, SIG_IGN);
    std::string path = ::testing::TempDir() + "/outputXXXXXX";
    directory_ = ::mkdtemp(path.data());
    UniqueFd directory(::open(directory_.c_str(), O_PATH | O_CLOEXEC));
    absl::StatusOr<OutputLogWriter> log =
        OutputLogWriter::Create(directory.get(), "stdout");
    ASSERT_TRUE(log.ok()) << log.status();
    log->SetRetention(retained, overflow);
    int fds[2];
    ASSERT_EQ(::pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    command_.Reset(fds[1]);
    OutputChannel::Callbacks callbacks;
    callbacks.changed = [this] {
      ++changes_;
      if (until_()) {
        loop_->Stop();
      }
    };
    callbacks.must_kill = [this](wire::ExitRecord::Cause cause) {
      kills_.push_back(cause);
    };
    channel_ = std::make_unique<OutputChannel>(
        OutputHost{loop_.get(), &storage_, quota_.get()}, kind,
        UniqueFd(fds[0]), *std::move(log), std::move(callbacks));
  }
  // As much as the pipe takes.
  size_t Print(const std::string& data) {
    const ssize_t taken = ::write(command_.get(), data.data(), data.size());
    return taken < 0 ? 0 : static_cast<size_t>(taken);
  }
  OutputLogReader Log() {
    return *OutputLogReader::Open(directory_ + "/stdout");
  }
  std::string Text() {
    const OutputLogReader log = Log();
    std::string text(1 << 20, '\0');
    text.resize(*log.Read(log.state()->begin, text.data(), text.size()));
    return text;
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  std::unique_ptr<OutputQuota> quota_ =
      std::make_unique<OutputQuota>(loop_.get());
  StorageStatus storage_{[this] { failures_.push_back(storage_.failure()); }};
  std::vector<std::string> failures_;
  std::vector<wire::ExitRecord::Cause> kills_;
  std::string directory_;
  UniqueFd command_;
  std::unique_ptr<OutputChannel> channel_;
  int changes_ = 0;
  // When the loop is to end, looked at after each change. It runs once only.
  std::function<bool()> until_ = [] { return true; };
};

TEST_F(OutputChannelTest, PutsWhatIsPrintedIntoTheLog) {
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

TEST_F(OutputChannelTest, HoldsTheCommandBackUntilTheLogHasRoom) {
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

TEST_F(OutputChannelTest, DropsTheOldestWhenItMayNotBlock) {
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

TEST_F(OutputChannelTest, WantsTheCommandKilledWhenItWritesMoreThanIsKept) {
  Open(wire::STDOUT, Overflow::kKill);
  const std::string data(kRetained, 'x');
  ASSERT_EQ(Print(data), kRetained);
  // A pipe is no larger by default.
  channel_->Pump();
  EXPECT_TRUE(kills_.empty()) << "all of it is kept";
  for (int i = 0; i < 2; ++i) {
    Print("more");
    channel_->Pump();
    EXPECT_EQ(kills_, std::vector{wire::ExitRecord::OUTPUT_LIMIT});
  }
  EXPECT_FALSE(channel_->blocked());
  command_.Reset();
  channel_->Pump();
  EXPECT_TRUE(channel_->closed());
  EXPECT_EQ(Text(), data);
}

TEST_F(OutputChannelTest, EndsAFullLogThatIsNotOverrun) {
  Open(wire::STDOUT, Overflow::kKill);
  ASSERT_EQ(Print(std::string(kRetained, 'x')), kRetained);
  command_.Reset();
  channel_->Pump();
  EXPECT_TRUE(channel_->closed());
  EXPECT_TRUE(kills_.empty());
}

TEST_F(OutputChannelTest, WaitsForADiskThatFails) {
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
      // By itself, after a while.
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

TEST_F(OutputChannelTest, WantsTheCommandKilledWhenTheDiskFails) {
  Open(wire::STDOUT, Overflow::kKill);
  Print("one");
  ASSERT_TRUE(tests::WithFailingCalls({SYS_splice}, EIO, [this] {
    channel_->Pump();
    channel_->Pump();
  }));
  EXPECT_EQ(kills_, std::vector{wire::ExitRecord::OUTPUT_FAILED});
  channel_->Close();
  EXPECT_EQ(storage_.failure(), "") << "nothing is to be written any more";
}

TEST_F(OutputChannelTest, TreatsAUsedUpQuotaAsAFullLog) {
  quota_->SetLimit(kRetained / 2);
  const std::string data(kRetained, 'x');
  Open(wire::STDOUT, Overflow::kBlock);
  Print(data);
  channel_->Pump();
  EXPECT_TRUE(channel_->blocked());
  EXPECT_EQ(Log().state()->end, kRetained / 2);
  channel_.reset();
  Open(wire::STDOUT, Overflow::kKill);
  Print(data);
  channel_->Pump();
  EXPECT_EQ(kills_, std::vector{wire::ExitRecord::OUTPUT_LIMIT});
  EXPECT_EQ(Log().state()->end, kRetained / 2);
}

TEST_F(OutputChannelTest, DropsWhatHasEndedBeforeItTreatsTheQuotaAsUsedUp) {
  quota_->SetLimit(kRetained);
  Open(wire::STDOUT, Overflow::kBlock);
  Print(std::string(kRetained / 2, 'x'));
  channel_->Pump();
  channel_->Close();
  std::unique_ptr<OutputChannel> ended;
  ended.swap(channel_);
  const std::string path = directory_ + "/stdout";
  quota_->AddEnded(ended.get(), [&] { EXPECT_TRUE(ended->Expire(path)); });
  Open(wire::STDOUT, Overflow::kBlock);
  Print(std::string(kRetained / 2 + 1, 'x'));
  channel_->Pump();
  EXPECT_FALSE(channel_->blocked());
  EXPECT_EQ(Log().state()->end, kRetained / 2 + 1);
  EXPECT_TRUE(OutputLogReader::Open(path)->state()->expired);
}

TEST_F(OutputChannelTest, GoesOnWhenTheQuotaHasRoomAgain) {
  quota_->SetLimit(kRetained);
  Open(wire::STDOUT, Overflow::kBlock);
  Print(std::string(kRetained, 'x'));
  channel_->Pump();
  std::unique_ptr<OutputChannel> first;
  first.swap(channel_);
  const UniqueFd first_command = std::move(command_);
  Open(wire::STDOUT, Overflow::kBlock);
  Print("more");
  channel_->Pump();
  EXPECT_TRUE(channel_->blocked());
  first->Acknowledge(kRetained);
  loop_->Run();
  EXPECT_FALSE(channel_->blocked());
  channel_->Pump();
  EXPECT_EQ(Text(), "more");
}

TEST_F(OutputChannelTest, GoesOnWhenAQuotaLessThanALogIsAcknowledged) {
  quota_->SetLimit(kRetained);
  Open(wire::STDOUT, Overflow::kBlock, uint64_t{64} << 20);
  for (uint64_t round = 1; round <= 3; ++round) {
    Print(std::string(kRetained, 'x'));
    channel_->Pump();
    EXPECT_TRUE(channel_->blocked());
    EXPECT_EQ(Log().state()->end, round * kRetained);
    channel_->Acknowledge(round * kRetained);
    EXPECT_FALSE(channel_->blocked());
  }
}

TEST_F(OutputChannelTest, GoesOnWhenAnotherLogIsAcknowledged) {
  quota_->SetLimit(kRetained);
  Open(wire::STDOUT, Overflow::kBlock, uint64_t{64} << 20);
  Print(std::string(kRetained, 'x'));
  channel_->Pump();
  std::unique_ptr<OutputChannel> first;
  first.swap(channel_);
  const UniqueFd first_command = std::move(command_);
  Open(wire::STDOUT, Overflow::kBlock, uint64_t{64} << 20);
  Print("more");
  channel_->Pump();
  EXPECT_TRUE(channel_->blocked());
  first->Acknowledge(kRetained / 2);
  loop_->Run();
  EXPECT_FALSE(channel_->blocked());
  channel_->Pump();
  EXPECT_EQ(Text(), "more");
}

TEST_F(OutputChannelTest, GoesOnWhenAClosedLogIsAcknowledged) {
  until_ = [] { return false; };
  quota_->SetLimit(kRetained);
  Open(wire::STDOUT, Overflow::kBlock, uint64_t{64} << 20);
  Print(std::string(kRetained, 'x'));
  channel_->Pump();
  std::unique_ptr<OutputChannel> first;
  first.swap(channel_);
  Open(wire::STDERR, Overflow::kBlock, uint64_t{64} << 20);
  Print("more");
  channel_->Pump();
  EXPECT_TRUE(channel_->blocked());
  first->Close();
  first->Acknowledge(kRetained);
  until_ = [this] { return Log().state()->end > 0; };
  loop_->Run();
  EXPECT_EQ(Text(), "more");
}

TEST_F(OutputChannelTest, DropsFromAClosedLogUntilItsExecutionHasEnded) {
  for (const bool settled : {false, true}) {
    quota_->SetLimit(2 * kRetained);
    Open(wire::STDOUT, Overflow::kDropOldest, uint64_t{64} << 20);
    Print(std::string(kRetained, 'x'));
    channel_->Pump();
    Print(std::string(kRetained / 2, 'x'));
    channel_->Pump();
    const OutputLogReader log = Log();
    channel_->Close();
    if (settled) {
      channel_->Settle();
    }
    std::unique_ptr<OutputChannel> first;
    first.swap(channel_);
    Open(wire::STDERR, Overflow::kDropOldest, uint64_t{64} << 20);
    Print(std::string(kRetained / 2, 'x'));
    channel_->Pump();
    Print("more");
    channel_->Pump();
    EXPECT_EQ(log.state()->begin > 0, !settled);
    first.reset();
    channel_.reset();
    quota_ = std::make_unique<OutputQuota>(loop_.get());
  }
}

TEST_F(OutputChannelTest, TriesAgainToGiveTheDiskWhatWasAcknowledged) {
  until_ = [] { return false; };
  quota_->SetLimit(kRetained);
  Open(wire::STDOUT, Overflow::kBlock, uint64_t{64} << 20);
  Print(std::string(kRetained, 'x'));
  channel_->Pump();
  std::unique_ptr<OutputChannel> first;
  first.swap(channel_);
  const UniqueFd first_command = std::move(command_);
  Open(wire::STDOUT, Overflow::kBlock, uint64_t{64} << 20);
  Print("more");
  channel_->Pump();
  ASSERT_TRUE(tests::WithFailingCalls({SYS_fallocate}, EIO, [&] {
    first->Acknowledge(kRetained);
    channel_->Pump();
  }));
  EXPECT_TRUE(channel_->blocked());
  // By itself, after a while.
  until_ = [this] { return Log().state()->end > 0; };
  loop_->Run();
  EXPECT_EQ(Text(), "more");
}

TEST_F(OutputChannelTest, TakesOnAndDropsWhenItsOwnOutputHadToMakeRoom) {
  for (const Overflow overflow : {Overflow::kBlock, Overflow::kDropOldest,
                                  Overflow::kHeadAndTail, Overflow::kKill}) {
    quota_->SetLimit(kRetained);
    Open(wire::STDOUT, overflow, 2 * kRetained);
    const std::string path = directory_ + "/stdout";
    // With the output still open.
    quota_->AddEnded(channel_.get(),
                     [&] { EXPECT_TRUE(channel_->Expire(path)); });
    for (uint64_t round = 1; round <= 8; ++round) {
      ASSERT_EQ(Print(std::string(kRetained, 'x')), kRetained);
      channel_->Pump();
      EXPECT_EQ(Log().state()->end, round * kRetained);
    }
    EXPECT_FALSE(channel_->closed());
    EXPECT_TRUE(Log().state()->expired);
    EXPECT_TRUE(kills_.empty());
    struct stat status;
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_LE(status.st_blocks * 512, 4096 + kRetained);
    channel_.reset();
    quota_ = std::make_unique<OutputQuota>(loop_.get());
  }
}

TEST_F(OutputChannelTest, StaysChargedForWhatTheDiskDoesNotDrop) {
  quota_->SetLimit(kRetained);
  Open(wire::STDOUT, Overflow::kBlock);
  Print(std::string(kRetained, 'x'));
  channel_->Pump();
  channel_->Close();
  channel_->Settle();
  const std::string path = directory_ + "/stdout";
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_fallocate}, EIO, [&] { EXPECT_FALSE(channel_->Expire(path)); }));
  EXPECT_NE(storage_.failure(), "");
  std::unique_ptr<OutputChannel> ended;
  ended.swap(channel_);
  Open(wire::STDOUT, Overflow::kBlock);
  Print("more");
  channel_->Pump();
  EXPECT_TRUE(channel_->blocked());
  EXPECT_TRUE(ended->Expire(path));
  EXPECT_EQ(storage_.failure(), "");
  channel_->Pump();
  EXPECT_EQ(Text(), "more");
}

TEST_F(OutputChannelTest, DropsMoreWhenTheQuotaIsUsedUp) {
  constexpr uint64_t kLimit = uint64_t{1} << 20;
  quota_->SetLimit(kLimit);
  Open(wire::STDOUT, Overflow::kDropOldest, 8 * kLimit);
  std::unique_ptr<OutputChannel> small;
  small.swap(channel_);
  const UniqueFd small_command = std::move(command_);
  ASSERT_EQ(::write(small_command.get(), "small", 5), 5);
  small->Pump();
  const OutputLogReader small_log = Log();
  Open(wire::STDOUT, Overflow::kHeadAndTail, 8 * kLimit);
  size_t printed = 0;
  while (printed < 8 * kLimit) {
    printed += Print(std::string(kRetained, 'x'));
    channel_->Pump();
    const OutputLogState state = *Log().state();
    EXPECT_LE(state.end - (state.gap_end - state.gap_begin),
              kLimit + kRetained);
  }
  EXPECT_EQ(Log().state()->end, printed);
  EXPECT_EQ(small_log.state()->begin, 0u);
}

TEST_F(OutputChannelTest, TakesNothingAfterItIsClosed) {
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

}  // namespace
}  // namespace sandbox
