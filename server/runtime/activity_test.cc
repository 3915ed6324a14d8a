#include "server/runtime/activity.h"

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "server/api/errors.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

// The result of a call that blocks, made on another thread.
using Waiting = std::future<bool>;

template <typename Function>
Waiting Begin(Function function) {
  return std::async(std::launch::async, std::move(function));
}

// Returns true if the call returns without the help of the fake clock. Takes
// the minute only when the test fails.
bool EndsByItself(const Waiting& waiting) {
  return waiting.wait_for(std::chrono::minutes(1)) == std::future_status::ready;
}

// Counts the timers that were ever set.
class CountingTimerQueue final : public tests::FakeTimerQueue {
 public:
  Id RunAfter(absl::Duration delay,
              absl::AnyInvocable<void()> function) override {
    const Id id = FakeTimerQueue::RunAfter(delay, std::move(function));
    sandbox::MutexLock lock(&mutex_);
    ++count_;
    mutex_.Signal();
    return id;
  }

  // Blocks until `count` timers were set.
  void AwaitCount(int count) {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await([this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return count_ >= count;
    });
  }

 private:
  sandbox::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

class FakeLastingCall final : public LastingCall {
 public:
  void Fail(const absl::Status& status) override { status_ = status; }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

// Never exits when idle, so that every timer is the deadline of a wait.
class ActivityTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kLongest = absl::Seconds(5);

  // Begins a call that blocks. It sets the timer of its deadline under the lock
  // that it releases when it blocks: what a test does to activity_ after this
  // finds the call blocked.
  template <typename Function>
  Waiting BeginBlocked(Function function) {
    Waiting waiting = Begin(std::move(function));
    timers_.AwaitCount(++waits_);
    return waiting;
  }

  Waiting BeginDrain(
      Activity::DrainFor what = Activity::DrainFor::kReadersAndCommands) {
    return BeginBlocked([=] { return activity_.Drain(kLongest, what); });
  }

  // Returns the result of a call that must end before its deadline.
  bool ResultOf(Waiting waiting) {
    const bool ended = EndsByItself(waiting);
    EXPECT_TRUE(ended) << "the call is still blocked";
    if (!ended) {
      timers_.Advance(kLongest);
    }
    return waiting.get();
  }

  CountingTimerQueue timers_;
  int waits_ = 0;
  Activity activity_{&timers_, {absl::ZeroDuration(), /*max_lasting_calls=*/2}};
};

TEST_F(ActivityTest, NeverStopsForIdlenessWithoutAnIdleTime) {
  timers_.Advance(absl::Hours(24 * 365));
  EXPECT_FALSE(activity_.should_stop());
}

TEST_F(ActivityTest, StopsOnRequest) {
  Waiting stop = Begin([this] {
    activity_.AwaitStop();
    return true;
  });
  EXPECT_FALSE(activity_.should_stop());
  activity_.RequestStop();
  EXPECT_TRUE(EndsByItself(stop));
  EXPECT_TRUE(activity_.should_stop());
}

TEST_F(ActivityTest, StopsForASuccessorUntilThatHasGone) {
  activity_.RequestHandover();
  activity_.AwaitStop();
  EXPECT_TRUE(activity_.handover_requested());
  activity_.CancelHandover();
  EXPECT_FALSE(activity_.handover_requested());
  EXPECT_FALSE(activity_.should_stop());
}

TEST_F(ActivityTest, DrainsUntilTheLastCommandEnds) {
  activity_.CommandStarted();
  Waiting drain = BeginDrain();
  EXPECT_EQ(ReasonOf(activity_.AdmitWork()), corral::v1::SERVER_DRAINING);
  activity_.CommandEnded();
  EXPECT_TRUE(ResultOf(std::move(drain)));
}

TEST_F(ActivityTest, DrainsUntilTheLastLastingCallEnds) {
  const auto call = std::make_shared<FakeLastingCall>();
  ASSERT_TRUE(activity_.AddLasting(call.get(), call).ok());
  Waiting drain = BeginDrain(Activity::DrainFor::kReaders);
  activity_.RemoveLasting(call.get());
  EXPECT_TRUE(ResultOf(std::move(drain)));
}

TEST_F(ActivityTest, ADrainThatLeavesACommandEndsAtItsDeadline) {
  activity_.CommandStarted();
  Waiting drain = BeginDrain();
  timers_.Advance(kLongest);
  EXPECT_FALSE(drain.get());
}

TEST_F(ActivityTest, ADrainThatLeavesALastingCallEndsAtItsDeadline) {
  const auto call = std::make_shared<FakeLastingCall>();
  ASSERT_TRUE(activity_.AddLasting(call.get(), call).ok());
  Waiting drain = BeginDrain(Activity::DrainFor::kReaders);
  timers_.Advance(kLongest);
  EXPECT_FALSE(drain.get());
}

TEST_F(ActivityTest, ADrainForReadersDoesNotWaitForCommands) {
  activity_.CommandStarted();
  EXPECT_TRUE(activity_.Drain(kLongest, Activity::DrainFor::kReaders));
}

TEST_F(ActivityTest, OnlyTheSecondStopRequestEndsADrain) {
  activity_.CommandStarted();
  activity_.RequestStop();
  Waiting drain = BeginDrain();
  activity_.RequestStop();
  EXPECT_FALSE(ResultOf(std::move(drain)));
}

TEST_F(ActivityTest, ADrainGoesOnAfterTheFirstStopRequest) {
  activity_.CommandStarted();
  activity_.RequestStop();
  Waiting drain = BeginDrain();
  activity_.CommandEnded();
  EXPECT_TRUE(ResultOf(std::move(drain)));
}

TEST_F(ActivityTest, ASuccessorEndsADrain) {
  activity_.CommandStarted();
  Waiting drain = BeginDrain();
  activity_.RequestHandover();
  EXPECT_FALSE(ResultOf(std::move(drain)));
}

TEST_F(ActivityTest, AdmitsWorkAgainAfterAHandoverFailed) {
  EXPECT_TRUE(activity_.AdmitWork().ok());
  activity_.RefuseWork(absl::Milliseconds(50));
  EXPECT_TRUE(activity_.draining());
  EXPECT_EQ(ReasonOf(activity_.AdmitWork()), corral::v1::SERVER_DRAINING);
  activity_.AdmitWorkAgain();
  EXPECT_FALSE(activity_.draining());
  EXPECT_TRUE(activity_.AdmitWork().ok());
}

TEST_F(ActivityTest, EndsLastingCallsAndThoseThatComeLater) {
  const auto call = std::make_shared<FakeLastingCall>();
  const auto over = std::make_shared<FakeLastingCall>();
  ASSERT_TRUE(activity_.AddLasting(call.get(), call).ok());
  ASSERT_TRUE(activity_.AddLasting(over.get(), over).ok());
  activity_.RemoveLasting(over.get());
  activity_.EndLastingCalls();
  EXPECT_EQ(ReasonOf(call->status()), corral::v1::SERVER_DRAINING);
  EXPECT_TRUE(over->status().ok());
  FakeLastingCall late;
  EXPECT_EQ(ReasonOf(activity_.AddLasting(&late, call)),
            corral::v1::SERVER_DRAINING);
}

TEST_F(ActivityTest, AwaitsTheEndOfEveryLastingCall) {
  const auto call = std::make_shared<FakeLastingCall>();
  ASSERT_TRUE(activity_.AddLasting(call.get(), call).ok());
  activity_.RefuseWork(absl::ZeroDuration());
  Waiting wait =
      BeginBlocked([this] { return activity_.AwaitNoLastingCall(kLongest); });
  activity_.RemoveLasting(call.get());
  EXPECT_TRUE(ResultOf(std::move(wait)));
}

TEST_F(ActivityTest, AwaitsTheAnswerOfEveryStart) {
  Activity::Start start = activity_.BeginStart();
  Activity::Start other = activity_.BeginStart();
  Waiting wait =
      BeginBlocked([this] { return activity_.AwaitNoStart(kLongest); });
  other.reset();
  start.reset();
  EXPECT_TRUE(ResultOf(std::move(wait)));
}

TEST_F(ActivityTest, AwaitsTheEndOfEveryCall) {
  Activity::Call call = activity_.BeginCall();
  Waiting wait =
      BeginBlocked([this] { return activity_.AwaitNoCall(kLongest); });
  call.reset();
  EXPECT_TRUE(ResultOf(std::move(wait)));
}

TEST_F(ActivityTest, AWaitThatIsNotFulfilledEndsAtItsDeadline) {
  const Activity::Start start = activity_.BeginStart();
  const Activity::Call call = activity_.BeginCall();
  activity_.SandboxAdded();
  for (auto wait : {&Activity::AwaitNoStart, &Activity::AwaitNoCall,
                    &Activity::AwaitNoSandbox}) {
    Waiting waiting = BeginBlocked([=] { return (activity_.*wait)(kLongest); });
    timers_.Advance(kLongest);
    EXPECT_FALSE(waiting.get());
  }
}

TEST_F(ActivityTest, RefusesALastingCallAboveTheLimitUntilAnotherEnds) {
  const auto first = std::make_shared<FakeLastingCall>();
  const auto second = std::make_shared<FakeLastingCall>();
  const auto third = std::make_shared<FakeLastingCall>();
  ASSERT_TRUE(activity_.AddLasting(first.get(), first).ok());
  ASSERT_TRUE(activity_.AddLasting(second.get(), second).ok());
  EXPECT_EQ(ReasonOf(activity_.AddLasting(third.get(), third)),
            corral::v1::TOO_MANY_CALLS);
  activity_.RemoveLasting(third.get());
  EXPECT_FALSE(activity_.AddLasting(third.get(), third).ok());
  activity_.RemoveLasting(first.get());
  EXPECT_TRUE(activity_.AddLasting(third.get(), third).ok());
}

TEST_F(ActivityTest, AwaitsTheEndOfTheLastLastingCallAlsoWithoutADrain) {
  const auto lasting = std::make_shared<FakeLastingCall>();
  ASSERT_TRUE(activity_.AddLasting(lasting.get(), lasting).ok());
  Waiting ended =
      BeginBlocked([this] { return activity_.AwaitNoLastingCall(kLongest); });
  activity_.RemoveLasting(lasting.get());
  EXPECT_TRUE(EndsByItself(ended));
  EXPECT_TRUE(ended.get());
}

TEST_F(ActivityTest, CountsHeldCallsWithTheLastingOnes) {
  const auto lasting = std::make_shared<FakeLastingCall>();
  ASSERT_TRUE(activity_.AddLasting(lasting.get(), lasting).ok());
  absl::StatusOr<Activity::Held> held = activity_.BeginHeld(1, 0);
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(ReasonOf(activity_.BeginHeld(1, 0).status()),
            corral::v1::TOO_MANY_CALLS);
  EXPECT_EQ(ReasonOf(activity_.AddLasting(lasting.get(), lasting)),
            corral::v1::TOO_MANY_CALLS);
  held->reset();
  EXPECT_TRUE(activity_.BeginHeld(1, 0).ok());
}

// Fires every timer, also those that were cancelled: a timer may have begun to
// run when it is cancelled.
class LateTimerQueue final : public tests::FakeTimerQueue {
 public:
  void Cancel(Id) override {}
};

TEST(ActivityDeadlineTest, ALateIdleTimerDoesNotStopTheServer) {
  LateTimerQueue timers;
  Activity activity(&timers, {absl::Seconds(10)});
  timers.Advance(absl::Seconds(5));
  activity.BeginCall().reset();
  timers.Advance(absl::Seconds(5));
  EXPECT_FALSE(activity.should_stop());
  timers.Advance(absl::Seconds(5));
  EXPECT_TRUE(activity.should_stop());
}

TEST(ActivityDeadlineTest, ALateDeadlineDoesNotEndALaterWait) {
  LateTimerQueue timers;
  Activity activity(&timers, {absl::ZeroDuration()});
  activity.SandboxAdded();
  EXPECT_TRUE(activity.Drain(absl::Seconds(5)));
  Waiting emptied =
      Begin([&activity] { return activity.AwaitNoSandbox(absl::Seconds(30)); });
  timers.AwaitTimers(2);
  timers.Advance(absl::Seconds(10));
  activity.SandboxRemoved();
  EXPECT_TRUE(EndsByItself(emptied));
  EXPECT_TRUE(emptied.get());
}

TEST_F(ActivityTest, AdvisesToRetryWhenWorkMayBeTakenAgain) {
  activity_.RefuseWork(absl::Milliseconds(50));
  EXPECT_EQ(activity_.AdmitWork(), ServerDraining(absl::Milliseconds(50)));
  const auto call = std::make_shared<FakeLastingCall>();
  const auto gone = std::make_shared<FakeLastingCall>();
  ASSERT_TRUE(activity_.AddLasting(call.get(), call).ok());
  ASSERT_TRUE(
      activity_.AddLasting(gone.get(), std::weak_ptr<LastingCall>()).ok());
  activity_.EndLastingCalls();
  EXPECT_EQ(call->status(), ServerDraining(absl::Milliseconds(50)));
  EXPECT_TRUE(gone->status().ok());
  activity_.RemoveLasting(call.get());
  activity_.RemoveLasting(gone.get());
  EXPECT_TRUE(activity_.Drain(kLongest));
  EXPECT_EQ(activity_.AdmitWork(), ServerDraining(absl::Seconds(1)));
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(ActivityTest, AdvisesToRetryNoLaterThanADrainLasts) {
  EXPECT_TRUE(activity_.Drain(absl::Milliseconds(30)));
  EXPECT_EQ(activity_.AdmitWork(), ServerDraining(absl::Milliseconds(30)));
}

}  // namespace
}  // namespace server
