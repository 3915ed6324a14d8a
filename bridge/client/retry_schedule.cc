#include "bridge/client/retry_schedule.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "bridge/client/error_details.h"

namespace client {
namespace {

// Limits the delay that a server may ask for.
constexpr absl::Duration kLongestDelay = absl::Seconds(5);

bool IsForNow(corral::v1::ErrorReason reason) {
  return reason == corral::v1::SERVER_DRAINING ||
         reason == corral::v1::SANDBOX_NOT_READY ||
         reason == corral::v1::TOO_MANY_CALLS ||
         reason == corral::v1::TOO_MUCH_INPUT;
}

// A message above gRPC's limit would be refused again. Only the text shows that
// this was the reason for RESOURCE_EXHAUSTED.
bool IsOfSize(const grpc::Status& status) {
  return absl::StrContains(status.error_message(), "larger than max");
}

}  // namespace

CallResult Classify(const grpc::Status& status) {
  const corral::v1::ErrorReason reason = GetErrorReason(status);
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:
      // A server that shuts down ends its calls with either code, without a
      // reason. With a reason such as STORAGE_FAILED, the server would refuse
      // the same call again.
      if (reason == corral::v1::ERROR_REASON_UNSPECIFIED) {
        return CallResult::kServerGone;
      }
      return IsForNow(reason) ? CallResult::kRefusedForNow
                              : CallResult::kAnswered;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      if (reason == corral::v1::ERROR_REASON_UNSPECIFIED) {
        return IsOfSize(status) ? CallResult::kAnswered : CallResult::kReset;
      }
      return IsForNow(reason) ? CallResult::kRefusedForNow
                              : CallResult::kAnswered;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return CallResult::kNoAnswer;
    default:
      return CallResult::kAnswered;
  }
}

std::optional<RetrySchedule::Attempt> RetrySchedule::OnResult(
    const grpc::Status& status, absl::Time begin, absl::Time now) {
  const bool first = !gone_since_.has_value();
  // A call that lasted had reached a server, so the server has not been gone
  // all the time. A long WaitExecution, for instance, meets many restarts.
  const bool lasted = now - begin > rules_.interval;
  absl::Duration delay = first ? absl::ZeroDuration() : rules_.interval;
  switch (Classify(status)) {
    case CallResult::kAnswered:
      return std::nullopt;
    case CallResult::kServerGone:
      if (first || lasted) {
        gone_since_ = now;
        delay = absl::ZeroDuration();
      }
      break;
    case CallResult::kNoAnswer:
      if (rules_.timeouts == Timeouts::kRenewal) {
        gone_since_.reset();
        return Attempt{absl::ZeroDuration(), now + rules_.patience};
      }
      gone_since_ = first ? now : *gone_since_;
      break;
    case CallResult::kRefusedForNow:
      delay = std::clamp(GetRetryDelay(status), rules_.interval, kLongestDelay);
      if (rules_.refusals == Refusals::kForEver) {
        gone_since_.reset();
        return Attempt{delay, now + delay + rules_.patience};
      }
      if (first ||
          (lasted && GetErrorReason(status) == corral::v1::SERVER_DRAINING)) {
        gone_since_ = now;
      }
      break;
    case CallResult::kReset:
      // Ever longer delays, because each attempt needs memory at the server.
      back_off_ = std::clamp(back_off_ * 2, rules_.interval, kLongestDelay);
      delay = back_off_;
      if (rules_.refusals == Refusals::kForEver) {
        gone_since_.reset();
        return Attempt{delay, now + delay + rules_.patience};
      }
      if (first || lasted) {
        gone_since_ = now;
      }
      break;
  }
  const absl::Time deadline = *gone_since_ + rules_.patience;
  return now < deadline ? std::make_optional(Attempt{delay, deadline})
                        : std::nullopt;
}

}  // namespace client
