#include "server/core/lifetime.h"

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

using Holder = Lifetime::Holder;

class LifetimeTest : public ::testing::Test {
 protected:
  void Begin(absl::Duration age_left, absl::Duration idle_timeout,
             absl::Duration lease_timeout = absl::ZeroDuration()) {
    lifetime_ = Lifetime::Create(&timers_, {idle_timeout, lease_timeout});
    lifetime_->Begin(age_left, [this] { ++expired_; });
  }

  tests::FakeTimerQueue timers_;
  std::shared_ptr<Lifetime> lifetime_;
  int expired_ = 0;
};

TEST_F(LifetimeTest, HasNoEndWithoutLimits) {
  Begin(absl::InfiniteDuration(), absl::ZeroDuration());
  EXPECT_EQ(timers_.size(), 0);
  timers_.Advance(absl::Hours(24 * 365));
  lifetime_->Hold(Holder::kCommand);
  lifetime_->Release(Holder::kCommand);
  timers_.Advance(absl::Hours(24 * 365));
  EXPECT_EQ(expired_, 0);
}

TEST_F(LifetimeTest, EndsAtItsAgeWhateverHoldsIt) {
  Begin(absl::Seconds(10), absl::ZeroDuration());
  lifetime_->Hold(Holder::kCommand);
  timers_.Advance(absl::Seconds(9));
  EXPECT_EQ(expired_, 0);
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, EndsAtOnceIfTheAgeWasReachedBefore) {
  Begin(absl::ZeroDuration(), absl::ZeroDuration());
  EXPECT_EQ(expired_, 0);
  timers_.Advance(absl::ZeroDuration());
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, EndsAfterIdling) {
  Begin(absl::InfiniteDuration(), absl::Seconds(10));
  timers_.Advance(absl::Seconds(9));
  EXPECT_EQ(expired_, 0);
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, IsNotIdleWhileItIsHeld) {
  Begin(absl::InfiniteDuration(), absl::Seconds(10));
  lifetime_->Hold(Holder::kCommand);
  lifetime_->Hold(Holder::kCommand);
  timers_.Advance(absl::Seconds(100));
  lifetime_->Release(Holder::kCommand);
  timers_.Advance(absl::Seconds(100));
  EXPECT_EQ(expired_, 0);
  lifetime_->Release(Holder::kCommand);
  timers_.Advance(absl::Seconds(9));
  EXPECT_EQ(expired_, 0);
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, CountsAHoldFromBeforeItsBeginning) {
  lifetime_ = Lifetime::Create(&timers_, {absl::Seconds(10), {}});
  lifetime_->Hold(Holder::kCommand);
  lifetime_->Begin(absl::InfiniteDuration(), [this] { ++expired_; });
  timers_.Advance(absl::Seconds(100));
  EXPECT_EQ(expired_, 0);
  lifetime_->Release(Holder::kCommand);
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, BeginsToIdleAnewWithEachUse) {
  Begin(absl::InfiniteDuration(), absl::Seconds(10));
  timers_.Advance(absl::Seconds(9));
  lifetime_->Touch();
  timers_.Advance(absl::Seconds(9));
  // Between two looks of the timer.
  lifetime_->Hold(Holder::kCommand);
  lifetime_->Release(Holder::kCommand);
  timers_.Advance(absl::Seconds(9));
  EXPECT_EQ(expired_, 0);
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, EndsWithoutALeaseThoughACommandRuns) {
  Begin(absl::InfiniteDuration(), absl::Seconds(5), absl::Seconds(10));
  lifetime_->Hold(Holder::kCommand);
  timers_.Advance(absl::Seconds(9));
  EXPECT_EQ(expired_, 0);
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, KeepsALeaseThatIsRenewed) {
  Begin(absl::InfiniteDuration(), absl::ZeroDuration(), absl::Seconds(10));
  for (int i = 0; i < 10; ++i) {
    timers_.Advance(absl::Seconds(9));
    lifetime_->Touch();
  }
  EXPECT_EQ(expired_, 0);
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, KeepsALeaseWhileACallLasts) {
  Begin(absl::InfiniteDuration(), absl::ZeroDuration(), absl::Seconds(10));
  {
    const CallHold first(lifetime_);
    CallHold second(lifetime_);
    const CallHold moved(std::move(second));
    timers_.Advance(absl::Seconds(100));
  }
  timers_.Advance(absl::Seconds(9));
  EXPECT_EQ(expired_, 0);
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, EndsOnce) {
  Begin(absl::Seconds(10), absl::Seconds(5));
  timers_.Advance(absl::Seconds(5));
  lifetime_->Hold(Holder::kCommand);
  lifetime_->Release(Holder::kCommand);
  timers_.Advance(absl::Seconds(100));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, LeavesNoTimerBehind) {
  Begin(absl::Seconds(10), absl::Seconds(5), absl::Seconds(5));
  EXPECT_EQ(timers_.size(), 3);
  lifetime_.reset();
  EXPECT_EQ(timers_.size(), 0);
  timers_.Advance(absl::Seconds(100));
  EXPECT_EQ(expired_, 0);
}

TEST_F(LifetimeTest, HasOneTimerForEachLimit) {
  Begin(absl::Seconds(10), absl::Seconds(5), absl::Seconds(5));
  for (int i = 0; i < 3; ++i) {
    lifetime_->Hold(Holder::kCall);
    lifetime_->Release(Holder::kCall);
  }
  EXPECT_EQ(timers_.size(), 3);
  timers_.Advance(absl::Seconds(5));
  EXPECT_EQ(expired_, 1);
  // Only the timer for the age is left, and no use adds another.
  lifetime_->Hold(Holder::kCall);
  lifetime_->Release(Holder::kCall);
  EXPECT_EQ(timers_.size(), 1);
}

TEST_F(LifetimeTest, SetsNoTimerWhileItIsHeld) {
  lifetime_ = Lifetime::Create(&timers_, {absl::Seconds(10), {}});
  lifetime_->Hold(Holder::kCommand);
  lifetime_->Hold(Holder::kCommand);
  lifetime_->Begin(absl::InfiniteDuration(), [] {});
  EXPECT_EQ(timers_.size(), 0);
  lifetime_->Release(Holder::kCommand);
  EXPECT_EQ(timers_.size(), 0);
  lifetime_->Release(Holder::kCommand);
  EXPECT_EQ(timers_.size(), 1);
}

TEST_F(LifetimeTest, AHoldThatEndsBeforeTheBeginningSetsNoTimer) {
  lifetime_ = Lifetime::Create(&timers_, {absl::Seconds(10), {}});
  lifetime_->Hold(Holder::kCommand);
  lifetime_->Release(Holder::kCommand);
  EXPECT_EQ(timers_.size(), 0);
}

}  // namespace
}  // namespace server
