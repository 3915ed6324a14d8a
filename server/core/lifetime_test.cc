#include "server/core/lifetime.h"

#include <memory>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

class LifetimeTest : public ::testing::Test {
 protected:
  void Begin(absl::Duration age_left, absl::Duration idle_timeout) {
    lifetime_ = Lifetime::Create(&timers_, idle_timeout);
    lifetime_->Begin(age_left, [this] { ++expired_; });
  }

  tests::FakeTimerQueue timers_;
  std::shared_ptr<Lifetime> lifetime_;
  int expired_ = 0;
};

TEST_F(LifetimeTest, HasNoEndWithoutLimits) {
  Begin(absl::InfiniteDuration(), absl::ZeroDuration());
  timers_.Advance(absl::Hours(24 * 365));
  lifetime_->Hold();
  lifetime_->Release();
  timers_.Advance(absl::Hours(24 * 365));
  EXPECT_EQ(expired_, 0);
}

TEST_F(LifetimeTest, EndsAtItsAgeWhateverHoldsIt) {
  Begin(absl::Seconds(10), absl::ZeroDuration());
  lifetime_->Hold();
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
  lifetime_->Hold();
  lifetime_->Hold();
  timers_.Advance(absl::Seconds(100));
  lifetime_->Release();
  timers_.Advance(absl::Seconds(100));
  EXPECT_EQ(expired_, 0);
  lifetime_->Release();
  timers_.Advance(absl::Seconds(9));
  EXPECT_EQ(expired_, 0);
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, CountsAHoldFromBeforeItsBeginning) {
  lifetime_ = Lifetime::Create(&timers_, absl::Seconds(10));
  lifetime_->Hold();
  lifetime_->Begin(absl::InfiniteDuration(), [this] { ++expired_; });
  timers_.Advance(absl::Seconds(100));
  EXPECT_EQ(expired_, 0);
  lifetime_->Release();
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, BeginsToIdleAnewWithEachUse) {
  Begin(absl::InfiniteDuration(), absl::Seconds(10));
  timers_.Advance(absl::Seconds(9));
  lifetime_->Touch();
  timers_.Advance(absl::Seconds(9));
  // Between two looks of the timer.
  lifetime_->Hold();
  lifetime_->Release();
  timers_.Advance(absl::Seconds(9));
  EXPECT_EQ(expired_, 0);
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, EndsOnce) {
  Begin(absl::Seconds(10), absl::Seconds(5));
  timers_.Advance(absl::Seconds(5));
  lifetime_->Hold();
  lifetime_->Release();
  timers_.Advance(absl::Seconds(100));
  EXPECT_EQ(expired_, 1);
}

TEST_F(LifetimeTest, LeavesNoTimerBehind) {
  Begin(absl::Seconds(10), absl::Seconds(5));
  lifetime_.reset();
  timers_.Advance(absl::Seconds(100));
  EXPECT_EQ(expired_, 0);
}

}  // namespace
}  // namespace server
