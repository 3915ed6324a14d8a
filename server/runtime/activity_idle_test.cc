// When a server stops because nobody uses it.

#include <chrono>
#include <future>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/runtime/activity.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

class IdleActivityTest : public ::testing::Test {
 protected:
  tests::FakeTimerQueue timers_;
  Activity activity_{&timers_, {absl::Seconds(10)}};
};

TEST_F(IdleActivityTest, StopsAfterTheIdleTime) {
  const auto stop =
      std::async(std::launch::async, [this] { activity_.AwaitStop(); });
  timers_.Advance(absl::Seconds(9));
  EXPECT_FALSE(activity_.should_stop());
  timers_.Advance(absl::Seconds(1));
  if (!activity_.should_stop()) {
    ADD_FAILURE();
    activity_.RequestStop();
  }
  // Takes the minute only when the test fails.
  EXPECT_EQ(stop.wait_for(std::chrono::minutes(1)), std::future_status::ready);
}

TEST_F(IdleActivityTest, IsNotIdleDuringACall) {
  Activity::Call call = activity_.BeginCall();
  timers_.Advance(absl::Seconds(20));
  EXPECT_FALSE(activity_.should_stop());
  call.reset();
  timers_.Advance(absl::Seconds(9));
  EXPECT_FALSE(activity_.should_stop());
  timers_.Advance(absl::Seconds(1));
  EXPECT_TRUE(activity_.should_stop());
}

TEST_F(IdleActivityTest, IsNotIdleWithASandbox) {
  activity_.SandboxAdded();
  timers_.Advance(absl::Seconds(20));
  EXPECT_FALSE(activity_.should_stop());
  activity_.SandboxRemoved();
  timers_.Advance(absl::Seconds(10));
  EXPECT_TRUE(activity_.should_stop());
}

TEST_F(IdleActivityTest, EachCallBeginsTheIdleTimeAnew) {
  timers_.Advance(absl::Seconds(9));
  activity_.BeginCall().reset();
  timers_.Advance(absl::Seconds(9));
  EXPECT_FALSE(activity_.should_stop());
  timers_.Advance(absl::Seconds(1));
  EXPECT_TRUE(activity_.should_stop());
}

TEST_F(IdleActivityTest, SetsOneTimerHoweverOftenItBecomesIdle) {
  for (int i = 0; i < 3; ++i) {
    activity_.BeginCall().reset();
  }
  EXPECT_EQ(timers_.size(), 1);
}

TEST_F(IdleActivityTest, ACallThatComesTooLateDoesNotKeepTheServer) {
  timers_.Advance(absl::Seconds(10));
  EXPECT_TRUE(activity_.should_stop());
  activity_.BeginCall().reset();
  const Activity::Call call = activity_.BeginCall();
  timers_.Advance(absl::Seconds(10));
  EXPECT_TRUE(activity_.should_stop());
}

}  // namespace
}  // namespace server
