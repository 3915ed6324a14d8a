#include "bridge/client/retry_schedule.h"

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/error_info.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"

namespace client {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();
constexpr absl::Duration kMoment = absl::Milliseconds(1);
constexpr absl::Duration kInterval = absl::Milliseconds(100);
constexpr absl::Duration kPatience = absl::Seconds(30);

grpc::Status Gone() { return {grpc::StatusCode::UNAVAILABLE, "closed"}; }

grpc::Status Reset() {
  return {grpc::StatusCode::RESOURCE_EXHAUSTED,
          "Received RST_STREAM with error code 11"};
}

grpc::Status NoAnswer() {
  return {grpc::StatusCode::DEADLINE_EXCEEDED, "too late"};
}

grpc::Status Refused(const std::string& reason,
                     absl::Duration delay = absl::ZeroDuration(),
                     grpc::StatusCode code = grpc::StatusCode::UNAVAILABLE) {
  google::rpc::ErrorInfo info;
  info.set_domain("corral.v1");
  info.set_reason(reason);
  google::rpc::RetryInfo retry;
  const timespec parts = absl::ToTimespec(delay);
  retry.mutable_retry_delay()->set_seconds(parts.tv_sec);
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(parts.tv_nsec));
  google::rpc::Status rich;
  rich.add_details()->PackFrom(info);
  rich.add_details()->PackFrom(retry);
  return {code, "not now", rich.SerializeAsString()};
}

// A schedule, and the time at which its calls end.
class RetryScheduleTest : public ::testing::Test {
 protected:
  static RetryRules Rules() {
    RetryRules rules;
    rules.patience = kPatience;
    rules.interval = kInterval;
    return rules;
  }

  // After `pause` a call begins, which ends with `status` after `duration`.
  std::optional<RetrySchedule::Attempt> Call(
      const grpc::Status& status, absl::Duration duration = kMoment,
      absl::Duration pause = absl::ZeroDuration()) {
    const absl::Time begin = now_ + pause;
    now_ = begin + duration;
    return schedule_->OnResult(status, begin, now_);
  }

  void Follow(const RetryRules& rules) { schedule_.emplace(rules); }

  std::optional<RetrySchedule> schedule_ = RetrySchedule(Rules());
  absl::Time now_ = kStart;
};

TEST_F(RetryScheduleTest, DistinguishesALostServerFromOneThatAnswers) {
  EXPECT_EQ(Classify(Gone()), CallResult::kServerGone);
  EXPECT_EQ(Classify({grpc::StatusCode::CANCELLED, "shut down"}),
            CallResult::kServerGone);
  EXPECT_EQ(Classify(NoAnswer()), CallResult::kNoAnswer);
  EXPECT_EQ(Classify(Refused("SERVER_DRAINING")), CallResult::kRefusedForNow);
  EXPECT_EQ(Classify(Refused("SANDBOX_NOT_READY")), CallResult::kRefusedForNow);
  EXPECT_EQ(Classify(Refused("STORAGE_FAILED")), CallResult::kAnswered);
  const auto exhausted = grpc::StatusCode::RESOURCE_EXHAUSTED;
  EXPECT_EQ(Classify(Refused("TOO_MANY_CALLS", absl::Seconds(1), exhausted)),
            CallResult::kRefusedForNow);
  EXPECT_EQ(Classify(Refused("TOO_MUCH_INPUT", absl::Seconds(1), exhausted)),
            CallResult::kRefusedForNow);
  EXPECT_EQ(Classify(Reset()), CallResult::kReset);
  EXPECT_EQ(Classify(Refused("TOO_MANY_SANDBOXES", {}, exhausted)),
            CallResult::kAnswered);
  EXPECT_EQ(Classify({grpc::StatusCode::NOT_FOUND, "no"}),
            CallResult::kAnswered);
  EXPECT_EQ(Classify(grpc::Status::OK), CallResult::kAnswered);
}

TEST_F(RetryScheduleTest, DoesNotRepeatAnAnsweredCall) {
  EXPECT_FALSE(Call(grpc::Status::OK).has_value());
  EXPECT_FALSE(Call({grpc::StatusCode::NOT_FOUND, "no"}).has_value());
  EXPECT_FALSE(Call(Refused("STORAGE_FAILED")).has_value());
}

TEST_F(RetryScheduleTest, RepeatsAtOnceAfterTheFirstLossAndThenAtIntervals) {
  EXPECT_EQ(Call(Gone())->delay, absl::ZeroDuration());
  EXPECT_EQ(Call(Gone())->delay, kInterval);
  EXPECT_EQ(Call(Gone())->delay, kInterval);
}

TEST_F(RetryScheduleTest, GivesUpWhenTheServerWasGoneForThePatience) {
  const auto first = Call(Gone());
  EXPECT_EQ(first->deadline, now_ + kPatience);
  EXPECT_EQ(Call(Gone(), kMoment, kPatience - 2 * kMoment)->deadline,
            kStart + kMoment + kPatience);
  EXPECT_FALSE(Call(Gone()).has_value());
}

TEST_F(RetryScheduleTest, CountsThePatienceAnewAfterAnAnswer) {
  Call(Gone());
  schedule_->OnAnswer();
  now_ += absl::Hours(1);
  const auto attempt = Call(Gone());
  EXPECT_EQ(attempt->deadline, now_ + kPatience);
}

TEST_F(RetryScheduleTest, CountsThePatienceAnewAfterACallThatLasted) {
  Call(Gone());
  const auto attempt = Call(Gone(), absl::Hours(1));
  ASSERT_TRUE(attempt.has_value());
  EXPECT_EQ(attempt->deadline, now_ + kPatience);
  EXPECT_EQ(attempt->delay, absl::ZeroDuration());
  const auto refused = Call(Refused("SERVER_DRAINING"), absl::Hours(1));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->deadline, now_ + kPatience);
}

TEST_F(RetryScheduleTest, ACallOfTheIntervalHasNotLasted) {
  Call(Gone());
  EXPECT_EQ(Call(Gone(), kInterval)->deadline, kStart + kMoment + kPatience);
}

TEST_F(RetryScheduleTest, WaitsBeforeItAsksAServerAgainThatRefuses) {
  EXPECT_EQ(Call(Refused("SANDBOX_NOT_READY"))->delay, kInterval);
  const absl::Duration asked = absl::Milliseconds(700);
  EXPECT_EQ(Call(Refused("SANDBOX_NOT_READY", asked))->delay, asked);
}

TEST_F(RetryScheduleTest, WaitsAtMostFiveSecondsWhateverTheServerAsks) {
  EXPECT_EQ(Call(Refused("SANDBOX_NOT_READY", absl::Milliseconds(999)))->delay,
            absl::Milliseconds(999));
  EXPECT_EQ(Call(Refused("SANDBOX_NOT_READY", absl::Hours(1)))->delay,
            absl::Seconds(5));
}

TEST_F(RetryScheduleTest, GivesUpOnASandboxThatDoesNotBecomeReady) {
  EXPECT_TRUE(Call(Refused("SANDBOX_NOT_READY")).has_value());
  EXPECT_TRUE(Call(Refused("SANDBOX_NOT_READY"), absl::Seconds(29)));
  EXPECT_FALSE(Call(Refused("SANDBOX_NOT_READY"), absl::Seconds(2)));
}

TEST_F(RetryScheduleTest, RepeatsForEverIfTheRulesSaySo) {
  RetryRules rules = Rules();
  rules.refusals = Refusals::kForEver;
  Follow(rules);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Call(Refused("SANDBOX_NOT_READY"), absl::Hours(1)));
  }
  EXPECT_TRUE(Call(Gone()));
  EXPECT_FALSE(Call(Gone(), kMoment, kPatience));
}

TEST_F(RetryScheduleTest, CountsThePatienceAnewAfterARefusal) {
  RetryRules rules = Rules();
  rules.refusals = Refusals::kForEver;
  for (const grpc::Status& refusal : {Refused("SANDBOX_NOT_READY"), Reset()}) {
    Follow(rules);
    EXPECT_TRUE(Call(Gone()));
    const auto repeated = Call(refusal, kMoment, absl::Hours(1));
    ASSERT_TRUE(repeated.has_value());
    EXPECT_EQ(repeated->deadline, now_ + kInterval + kPatience);
    const auto gone = Call(Gone());
    ASSERT_TRUE(gone.has_value());
    EXPECT_EQ(gone->deadline, now_ + kPatience);
  }
}

TEST_F(RetryScheduleTest, CountsThePatienceAnewAfterAResetThatCameLate) {
  EXPECT_TRUE(Call(Reset()));
  const auto attempt = Call(Reset(), absl::Hours(1));
  ASSERT_TRUE(attempt.has_value());
  EXPECT_EQ(attempt->deadline, now_ + kPatience);
}

TEST_F(RetryScheduleTest, RepeatsACallThatWasResetMoreAndMoreSlowly) {
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(Call(Reset())->delay, kInterval * (1 << i));
  }
  EXPECT_EQ(Call(Reset())->delay, absl::Seconds(5));
  EXPECT_EQ(Call(Reset())->delay, absl::Seconds(5));
  schedule_->OnAnswer();
  EXPECT_EQ(Call(Reset())->delay, kInterval);
}

TEST_F(RetryScheduleTest, GivesUpOnACallThatIsResetForThePatience) {
  const auto first = Call(Reset());
  EXPECT_EQ(first->deadline, now_ + kPatience);
  EXPECT_TRUE(Call(Reset(), kMoment, kPatience - 2 * kMoment));
  EXPECT_FALSE(Call(Reset()));
  RetryRules rules = Rules();
  rules.refusals = Refusals::kForEver;
  Follow(rules);
  EXPECT_TRUE(Call(Reset()));
  EXPECT_TRUE(Call(Reset(), kMoment, absl::Hours(1)));
}

TEST_F(RetryScheduleTest, ATimeoutCountsAsTheLossOfTheServer) {
  EXPECT_EQ(Call(NoAnswer(), absl::Seconds(20))->delay, absl::ZeroDuration());
  EXPECT_TRUE(Call(NoAnswer(), absl::Seconds(20)));
  EXPECT_FALSE(Call(NoAnswer(), absl::Seconds(20)));
}

TEST_F(RetryScheduleTest, ATimeoutOfACallThatWaitsRenewsIt) {
  RetryRules rules = Rules();
  rules.timeouts = Timeouts::kRenewal;
  Follow(rules);
  Call(Gone());
  for (int i = 0; i < 10; ++i) {
    const auto attempt = Call(NoAnswer(), absl::Minutes(1));
    ASSERT_TRUE(attempt.has_value());
    EXPECT_EQ(attempt->delay, absl::ZeroDuration());
    EXPECT_EQ(attempt->deadline, now_ + kPatience);
  }
  const auto attempt = Call(Gone());
  EXPECT_EQ(attempt->deadline, now_ + kPatience);
}

}  // namespace
}  // namespace client
