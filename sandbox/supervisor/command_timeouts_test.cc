#include "sandbox/supervisor/command_timeouts.h"

#include <unistd.h>

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_timers.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

class CommandTimeoutsTest : public ::testing::Test {
 protected:
  CommandTimeouts& Make() {
    timeouts_ = std::make_unique<CommandTimeouts>(
        &timers_, command_,
        CommandTimeouts::Callbacks{[this] {
                                     ++cpu_reads_;
                                     return cpu_time_;
                                   },
                                   [this](wire::ExitRecord::Cause cause) {
                                     expired_.push_back(cause);
                                   },
                                   [this] { ++kills_; }});
    return *timeouts_;
  }

  tests::FakeTimers timers_;
  wire::CommandSpec command_;
  absl::StatusOr<absl::Duration> cpu_time_ = absl::ZeroDuration();
  int cpu_reads_ = 0;
  std::vector<wire::ExitRecord::Cause> expired_;
  int kills_ = 0;
  std::unique_ptr<CommandTimeouts> timeouts_;
};

TEST_F(CommandTimeoutsTest, WithoutLimitsNothingExpires) {
  Make().Start();
  EXPECT_EQ(timers_.size(), 0u);
  EXPECT_EQ(cpu_reads_, 0);
  EXPECT_FALSE(timeouts_->limits_cpu());
}

TEST_F(CommandTimeoutsTest, DrainsForTwoSecondsUnlessTheCommandSaysOtherwise) {
  EXPECT_EQ(Make().drain(), absl::Seconds(2));
  command_.set_drain_ns(0);
  EXPECT_EQ(Make().drain(), absl::ZeroDuration());
}

TEST_F(CommandTimeoutsTest, WallTimeExpiresOnceAndTheGracePeriodFollows) {
  command_.set_wall_timeout_ns(3 * kSecond);
  command_.set_kill_grace_ns(2 * kSecond);
  Make().Start();
  timers_.Advance(absl::Seconds(3) - absl::Nanoseconds(1));
  EXPECT_THAT(expired_, IsEmpty());
  timers_.Advance(absl::Nanoseconds(1));
  EXPECT_THAT(expired_, ElementsAre(wire::ExitRecord::WALL_TIMEOUT));
  timers_.Advance(absl::Seconds(2) - absl::Nanoseconds(1));
  EXPECT_EQ(kills_, 0);
  timers_.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(kills_, 1);
  timers_.Advance(absl::Hours(1));
  EXPECT_EQ(kills_, 1);
  EXPECT_EQ(expired_.size(), 1u);
}

TEST_F(CommandTimeoutsTest, CpuTimeExpiresWhenItIsUsedUp) {
  command_.set_cpu_timeout_ns(kSecond);
  Make().Start();
  EXPECT_TRUE(timeouts_->limits_cpu());
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  cpu_time_ = absl::Milliseconds(999);
  timers_.Advance(absl::Seconds(1) / cpus);
  EXPECT_THAT(expired_, IsEmpty());
  cpu_time_ = absl::Seconds(1);
  timers_.Advance(absl::Milliseconds(19));
  EXPECT_THAT(expired_, IsEmpty()) << "reads are at least 20 ms apart";
  timers_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(expired_, ElementsAre(wire::ExitRecord::CPU_TIMEOUT));
}

TEST_F(CommandTimeoutsTest, CpuTimeIsReadAgainAfterAFailure) {
  command_.set_cpu_timeout_ns(kSecond);
  cpu_time_ = absl::InternalError("cpu.stat");
  Make().Start();
  timers_.Advance(absl::Seconds(3));
  EXPECT_THAT(expired_, IsEmpty());
  EXPECT_GT(cpu_reads_, 1);
  cpu_time_ = absl::Seconds(2);
  timers_.Advance(absl::Seconds(1));
  EXPECT_THAT(expired_, ElementsAre(wire::ExitRecord::CPU_TIMEOUT));
}

TEST_F(CommandTimeoutsTest, OnlyTheFirstLimitExpires) {
  command_.set_wall_timeout_ns(kSecond);
  command_.set_cpu_timeout_ns(kSecond / 1000);
  Make().Start();
  cpu_time_ = absl::Seconds(1);
  timers_.Advance(absl::Seconds(2));
  EXPECT_THAT(expired_, ElementsAre(wire::ExitRecord::CPU_TIMEOUT));
}

TEST_F(CommandTimeoutsTest, NothingExpiresAfterTheExitButAGracePeriodGoesOn) {
  command_.set_wall_timeout_ns(kSecond);
  command_.set_cpu_timeout_ns(kSecond);
  Make().Start();
  timeouts_->KillAfter(absl::Seconds(5));
  timeouts_->OnExit();
  cpu_time_ = absl::Seconds(2);
  timers_.Advance(absl::Seconds(5));
  EXPECT_THAT(expired_, IsEmpty());
  EXPECT_EQ(kills_, 1);
}

TEST_F(CommandTimeoutsTest, ALaterKillNeverPostponesAnEarlierOne) {
  Make();
  timeouts_->KillAfter(absl::Seconds(2));
  timeouts_->KillAfter(absl::Seconds(3));
  timers_.Advance(absl::Seconds(2));
  EXPECT_EQ(kills_, 1);
  timers_.Advance(absl::Seconds(2));
  EXPECT_EQ(kills_, 1);
  timeouts_->KillAfter(absl::Seconds(3));
  timeouts_->KillAfter(absl::Seconds(1));
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(kills_, 2);
  timers_.Advance(absl::Seconds(2));
  EXPECT_EQ(kills_, 2);
}

TEST_F(CommandTimeoutsTest, ACancelledKillDoesNotHappen) {
  Make();
  timeouts_->KillAfter(absl::Seconds(1));
  timeouts_->CancelKill();
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(kills_, 0);
}

TEST_F(CommandTimeoutsTest, CpuTimeDoesNotExpireAfterWallTime) {
  command_.set_wall_timeout_ns(kSecond);
  command_.set_cpu_timeout_ns(10 * kSecond);
  Make().Start();
  timers_.Advance(absl::Seconds(1));
  cpu_time_ = absl::Seconds(20);
  timers_.Advance(absl::Seconds(20));
  EXPECT_THAT(expired_, ElementsAre(wire::ExitRecord::WALL_TIMEOUT));
}

}  // namespace
}  // namespace sandbox
