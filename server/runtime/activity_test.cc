#include "server/runtime/activity.h"

#include <future>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

class ActivityTest : public ::testing::Test {
 protected:
  // Whether AwaitStop returned.
  bool stopped() {
    return stop_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  tests::FakeTimerQueue timers_;
  Activity activity_{&timers_, absl::Seconds(10)};
  std::future<void> stop_ =
      std::async(std::launch::async, [this] { activity_.AwaitStop(); });
};

TEST_F(ActivityTest, StopsWhenItWasIdleForLongEnough) {
  timers_.Advance(absl::Seconds(10));
  stop_.wait();
}

TEST_F(ActivityTest, IsNotIdleDuringACallOrWithASandbox) {
  {
    const Activity::Call call = activity_.BeginCall();
    timers_.Advance(absl::Seconds(20));
  }
  activity_.SandboxAdded();
  timers_.Advance(absl::Seconds(20));
  EXPECT_FALSE(stopped());
  activity_.SandboxRemoved();
  timers_.Advance(absl::Seconds(9));
  EXPECT_FALSE(stopped());
  timers_.Advance(absl::Seconds(1));
  stop_.wait();
}

TEST_F(ActivityTest, EachCallBeginsTheIdleTimeAnew) {
  timers_.Advance(absl::Seconds(9));
  activity_.BeginCall().reset();
  timers_.Advance(absl::Seconds(9));
  EXPECT_FALSE(stopped());
  timers_.Advance(absl::Seconds(1));
  stop_.wait();
}

TEST_F(ActivityTest, ADrainEndsWithTheLastCommand) {
  activity_.CommandStarted();
  activity_.RequestStop();
  stop_.wait();
  std::thread drain([this] { activity_.Drain(absl::Hours(1)); });
  activity_.CommandEnded();
  drain.join();
  EXPECT_EQ(ReasonOf(activity_.AdmitWork()), corral::v1::SERVER_DRAINING);
}

TEST_F(ActivityTest, ADrainEndsWithItsTime) {
  activity_.CommandStarted();
  activity_.RequestStop();
  std::thread drain([this] { activity_.Drain(absl::Seconds(5)); });
  timers_.AwaitTimers(2);
  timers_.Advance(absl::Seconds(5));
  drain.join();
}

TEST_F(ActivityTest, ADrainEndsWithTheSecondRequest) {
  activity_.CommandStarted();
  activity_.RequestStop();
  std::thread drain([this] { activity_.Drain(absl::Hours(1)); });
  activity_.RequestStop();
  drain.join();
}

TEST_F(ActivityTest, ADrainForReadersDoesNotWaitForCommands) {
  activity_.CommandStarted();
  activity_.RequestStop();
  activity_.Drain(absl::Hours(1), Activity::DrainFor::kReaders);
}

TEST_F(ActivityTest, ADrainEndsWhenASuccessorWaits) {
  activity_.CommandStarted();
  activity_.RequestStop();
  std::thread drain([this] { activity_.Drain(absl::Hours(1)); });
  activity_.RequestHandover();
  drain.join();
  EXPECT_TRUE(activity_.handover_requested());
}

class FakeLastingCall final : public LastingCall {
 public:
  void Fail(const absl::Status& status) override { status_ = status; }
  absl::Status status_;
};

TEST_F(ActivityTest, EndsLastingCallsAndThoseThatComeLater) {
  const auto call = std::make_shared<FakeLastingCall>();
  EXPECT_TRUE(activity_.AddLasting(call.get(), call).ok());
  activity_.RequestHandover();
  activity_.RefuseWork(absl::Milliseconds(50));
  activity_.EndLastingCalls();
  EXPECT_EQ(ReasonOf(call->status_), corral::v1::SERVER_DRAINING);
  FakeLastingCall late;
  EXPECT_EQ(ReasonOf(activity_.AddLasting(&late, call)),
            corral::v1::SERVER_DRAINING);
  std::thread wait([this] { activity_.AwaitNoLastingCall(absl::Hours(1)); });
  activity_.RemoveLasting(call.get());
  wait.join();
}

TEST_F(ActivityTest, AwaitsTheAnswerOfAStart) {
  Activity::Start start = activity_.BeginStart();
  activity_.RequestHandover();
  activity_.RefuseWork(absl::Milliseconds(50));
  std::thread wait([this] { activity_.AwaitNoStart(absl::Hours(1)); });
  start.reset();
  wait.join();
  activity_.AdmitWorkAgain();
  EXPECT_TRUE(activity_.AdmitWork().ok());
}

// As if every timer fired at the moment at which it is cancelled.
class LateTimerQueue final : public tests::FakeTimerQueue {
 public:
  void Cancel(Id) override {}
};

TEST(ActivityDeadlineTest, ConcernsNoLaterWait) {
  LateTimerQueue timers;
  Activity activity(&timers, absl::ZeroDuration());
  activity.SandboxAdded();
  activity.Drain(absl::Seconds(5));
  auto emptied = std::async(std::launch::async, [&activity] {
    return activity.AwaitNoSandbox(absl::Seconds(30));
  });
  timers.AwaitTimers(2);
  timers.Advance(absl::Seconds(10));
  activity.SandboxRemoved();
  EXPECT_TRUE(emptied.get());
}

}  // namespace
}  // namespace server
