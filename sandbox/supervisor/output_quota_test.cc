// The quota with the channels that it is for.

#include "sandbox/supervisor/output_quota.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/output_channel.h"
#include "sandbox/supervisor/output_channel_fixture.h"
#include "tests/failing_calls.h"

namespace sandbox {
namespace {

using OutputQuotaTest = OutputChannelFixture;

TEST_F(OutputQuotaTest, TreatsAnExhaustedQuotaLikeAFullLog) {
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

// Drops what it is asked to drop.
class PlayedLog final : public QuotaLog {
 public:
  explicit PlayedLog(uint64_t bytes) : bytes_(bytes) {}

  uint64_t droppable_bytes() const override { return bytes_; }
  void Trim(uint64_t bytes) override { bytes_ = bytes; }
  void Resume() override { ++resumed_; }
  int resumed() const { return resumed_; }

 private:
  uint64_t bytes_;
  int resumed_ = 0;
};

TEST_F(OutputQuotaTest, AsksNothingOfALogThatIsReleased) {
  Open(wire::STDOUT, Overflow::kDropOldest);
  channel_->Close();
  channel_->Settle();
  channel_.reset();
  PlayedLog log(1000);
  quota_->SetLimit(1000);
  quota_->Add(&log);
  quota_->Charge(1000);
  quota_->MakeRoom(&log);
  EXPECT_LT(log.droppable_bytes(), 1000u);
  quota_->Remove(&log);
}

TEST_F(OutputQuotaTest, DropsTheOutputOfEndedExecutionsFirst) {
  quota_->SetLimit(kRetained);
  Open(wire::STDOUT, Overflow::kBlock);
  Print(std::string(kRetained / 2, 'x'));
  channel_->Pump();
  channel_->Close();
  std::unique_ptr<OutputChannel> ended;
  ended.swap(channel_);
  const std::string path = directory_ + "/e1";
  quota_->AddEnded(ended.get(), [&] { EXPECT_TRUE(ended->Expire(path)); });
  Open(wire::STDOUT, Overflow::kBlock);
  Print(std::string(kRetained / 2 + 1, 'x'));
  channel_->Pump();
  EXPECT_FALSE(channel_->blocked());
  EXPECT_EQ(Log().state()->end, kRetained / 2 + 1);
  EXPECT_TRUE(OutputLogReader::Open(path, wire::STDOUT)->state()->expired);
}

TEST_F(OutputQuotaTest, ExpiresNoMoreThanTheOutputThatEndedFirst) {
  quota_->SetLimit(1600);
  std::string expired;
  const auto expire = [&](char name) {
    expired += name;
    quota_->Charge(-500);
  };
  quota_->AddEnded("1", [&] { expire('1'); });
  quota_->AddEnded("2", [&] { expire('2'); });
  quota_->AddEnded("3", [&] { expire('3'); });
  quota_->Charge(1599);
  EXPECT_EQ(quota_->MakeRoom(nullptr), 1u);
  EXPECT_EQ(expired, "") << "there is room";
  quota_->Charge(1);
  EXPECT_EQ(quota_->MakeRoom(nullptr), 500u);
  EXPECT_EQ(expired, "1");
  quota_->Charge(500);
  EXPECT_EQ(quota_->MakeRoom(nullptr), 500u);
  EXPECT_EQ(expired, "12");
}

TEST_F(OutputQuotaTest, ForgetsAnEndedExecutionThatIsDeleted) {
  quota_->SetLimit(1600);
  std::string expired;
  const char deleted = 'd';
  const char other = 'o';
  quota_->AddEnded(&deleted, [&] { expired += 'd'; });
  quota_->AddEnded(&other, [&] { expired += 'o'; });
  quota_->RemoveEnded(&deleted);
  quota_->Charge(1600);
  EXPECT_EQ(quota_->MakeRoom(nullptr), 0u);
  EXPECT_EQ(expired, "o");
}

TEST_F(OutputQuotaTest, ResumesALogWhenTheQuotaHasRoomAgain) {
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

TEST_F(OutputQuotaTest, ResumesALogThatIsLargerThanTheQuotaOnAcknowledgement) {
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

TEST_F(OutputQuotaTest, ResumesALogWhenAnotherLogIsAcknowledged) {
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

TEST_F(OutputQuotaTest, ResumesALogWhenAClosedLogIsAcknowledged) {
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

TEST_F(OutputQuotaTest, DropsFromAClosedLogUntilItsExecutionHasEnded) {
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

TEST_F(OutputQuotaTest, RetriesToReleaseAcknowledgedSpace) {
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
  // The channel resumes by itself, after a while.
  until_ = [this] { return Log().state()->end > 0; };
  loop_->Run();
  EXPECT_EQ(Text(), "more");
}

TEST_F(OutputQuotaTest, KeepsDiscardingTheOutputOfAnExpiredExecution) {
  for (const Overflow overflow : {Overflow::kBlock, Overflow::kDropOldest,
                                  Overflow::kHeadAndTail, Overflow::kKill}) {
    quota_->SetLimit(kRetained);
    Open(wire::STDOUT, overflow, 2 * kRetained);
    const std::string path = directory_ + "/e1";
    // The output is still open.
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
    ASSERT_EQ(::stat((path + ".out").c_str(), &status), 0);
    EXPECT_LE(status.st_blocks * 512, kRetained);
    channel_.reset();
    quota_ = std::make_unique<OutputQuota>(loop_.get());
  }
}

TEST_F(OutputQuotaTest, KeepsTheChargeForOutputThatTheDiskCannotDrop) {
  quota_->SetLimit(kRetained);
  Open(wire::STDOUT, Overflow::kBlock);
  Print(std::string(kRetained, 'x'));
  channel_->Pump();
  channel_->Close();
  channel_->Settle();
  const std::string path = directory_ + "/e1";
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

TEST_F(OutputQuotaTest, DropsFromTheLargestLogWhenTheQuotaIsExhausted) {
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

TEST_F(OutputQuotaTest, CutsTheLargestLogsToTheSameSize) {
  for (const int64_t others : {0, 300}) {
    quota_ = std::make_unique<OutputQuota>(loop_.get());
    quota_->SetLimit(1600);
    PlayedLog small(200);
    PlayedLog middle(700);
    PlayedLog large(900);
    for (PlayedLog* log : {&small, &middle, &large}) {
      quota_->Add(log);
    }
    quota_->Charge(1800 + others);
    // Down to a sixteenth below the limit.
    quota_->MakeRoom(nullptr);
    EXPECT_EQ(small.droppable_bytes(), 200u);
    EXPECT_EQ(middle.droppable_bytes(), others == 0 ? 650u : 500u);
    EXPECT_EQ(large.droppable_bytes(), others == 0 ? 650u : 500u);
  }
}

TEST_F(OutputQuotaTest, CutsToNoMoreThanEightMebibytesBelowALargeLimit) {
  constexpr uint64_t kLimit = uint64_t{1} << 30;
  quota_->SetLimit(kLimit);
  PlayedLog log(kLimit);
  quota_->Add(&log);
  quota_->Charge(kLimit);
  quota_->MakeRoom(nullptr);
  EXPECT_EQ(log.droppable_bytes(), kLimit - (uint64_t{8} << 20));
}

TEST_F(OutputQuotaTest, CutsNoLogWhenTheOutputOfEndedExecutionsIsEnough) {
  quota_->SetLimit(1600);
  PlayedLog log(1000);
  quota_->Add(&log);
  quota_->AddEnded("1", [this] { quota_->Charge(-600); });
  quota_->Charge(1600);
  EXPECT_EQ(quota_->MakeRoom(&log), 600u);
  EXPECT_EQ(log.droppable_bytes(), 1000u);
}

TEST_F(OutputQuotaTest, ResumesALogEachTimeThatItWaited) {
  quota_->SetLimit(1000);
  PlayedLog log(0);
  quota_->Add(&log);
  for (const int round : {1, 2}) {
    quota_->Charge(round == 1 ? 1000 : 1);
    EXPECT_EQ(quota_->MakeRoom(&log), 0u);
    quota_->Charge(-1);
    EXPECT_EQ(log.resumed(), round - 1) << "it may be on the stack";
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
    EXPECT_EQ(log.resumed(), round);
  }
}

TEST_F(OutputQuotaTest, ResumesNoLogThatIsRemovedWhileItWaits) {
  quota_->SetLimit(1000);
  PlayedLog log(0);
  quota_->Add(&log);
  quota_->Charge(1000);
  EXPECT_EQ(quota_->MakeRoom(&log), 0u);
  quota_->Remove(&log);
  quota_->Charge(-1);
  loop_->WhenIdle([this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(log.resumed(), 0);
}

}  // namespace
}  // namespace sandbox
