#include "server/core/viewers.h"

#include <memory>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

constexpr absl::Duration kMoment = absl::Milliseconds(1);

class ViewersTest : public ::testing::Test {
 protected:
  tests::FakeTimerQueue timers_;
  int unwatched_ = 0;
  std::shared_ptr<Viewers> viewers_ =
      Viewers::Create(&timers_, [this] { ++unwatched_; });
};

TEST_F(ViewersTest, ReportsWhenThePatienceIsOverAndNotBefore) {
  viewers_->Begin();
  viewers_->End();
  timers_.Advance(Viewers::kPatience - kMoment);
  EXPECT_EQ(unwatched_, 0);
  timers_.Advance(kMoment);
  EXPECT_EQ(unwatched_, 1);
}

TEST_F(ViewersTest, WaitsForTheLastViewerToLeave) {
  viewers_->Begin();
  viewers_->Begin();
  viewers_->End();
  timers_.Advance(2 * Viewers::kPatience);
  EXPECT_EQ(unwatched_, 0);
  viewers_->End();
  timers_.Advance(Viewers::kPatience);
  EXPECT_EQ(unwatched_, 1);
}

TEST_F(ViewersTest, BeginsThePatienceAnewAfterEachVisit) {
  viewers_->Begin();
  viewers_->End();
  timers_.Advance(Viewers::kPatience - kMoment);
  viewers_->Begin();
  viewers_->End();
  timers_.Advance(Viewers::kPatience - kMoment);
  EXPECT_EQ(unwatched_, 0);
  timers_.Advance(kMoment);
  EXPECT_EQ(unwatched_, 1);
}

TEST_F(ViewersTest, DoesNotReportWhileSomebodyWatchesAgain) {
  viewers_->Begin();
  viewers_->End();
  viewers_->Begin();
  timers_.Advance(2 * Viewers::kPatience);
  EXPECT_EQ(unwatched_, 0);
}

// A timer that has begun to run cannot be cancelled.
class LateTimerQueue : public tests::FakeTimerQueue {
 public:
  void Cancel(Id /*id*/) override {}
};

TEST(Viewers, IgnoreATimerThatRunsAfterALaterVisit) {
  LateTimerQueue timers;
  int unwatched = 0;
  const auto viewers = Viewers::Create(&timers, [&] { ++unwatched; });
  viewers->Begin();
  viewers->End();
  timers.Advance(Viewers::kPatience / 2);
  viewers->Begin();
  viewers->End();
  timers.Advance(Viewers::kPatience / 2);
  EXPECT_EQ(unwatched, 0);
  timers.Advance(Viewers::kPatience / 2);
  EXPECT_EQ(unwatched, 1);
}

TEST(Viewers, ReportNothingWhenTheyAreGone) {
  LateTimerQueue timers;
  int unwatched = 0;
  auto viewers = Viewers::Create(&timers, [&] { ++unwatched; });
  viewers->Begin();
  viewers->End();
  viewers.reset();
  timers.Advance(Viewers::kPatience);
  EXPECT_EQ(unwatched, 0);
}

TEST(Viewers, LeaveNoTimerWhenSomebodyComesOrTheyAreGone) {
  tests::FakeTimerQueue timers;
  auto viewers = Viewers::Create(&timers, [] {});
  viewers->Begin();
  viewers->End();
  viewers->Begin();
  EXPECT_EQ(timers.size(), 0);
  viewers->End();
  EXPECT_EQ(timers.size(), 1);
  viewers.reset();
  EXPECT_EQ(timers.size(), 0);
}

}  // namespace
}  // namespace server
