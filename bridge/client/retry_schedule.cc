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

absl::Duration RetrySchedule::DelayAfter(CallResult result,
                                         const grpc::Status& status,
                                         bool at_once) {
  switch (result) {
    case CallResult::kServerGone:
    case CallResult::kNoAnswer:
      return at_once ? absl::ZeroDuration() : rules_.interval;
    case CallResult::kRefusedForNow:
      return std::clamp(GetRetryDelay(status), rules_.interval, kLongestDelay);
    case CallResult::kReset:
      // Ever longer delays, because each attempt needs memory at the server.
      back_off_ = std::clamp(back_off_ * 2, rules_.interval, kLongestDelay);
      return back_off_;
    case CallResult::kAnswered:
      break;
  }
  return absl::ZeroDuration();
}

bool RetrySchedule::IsServerThere(CallResult result) const {
  switch (result) {
    case CallResult::kNoAnswer:
      return rules_.timeouts == Timeouts::kRenewal;
    case CallResult::kRefusedForNow:
    case CallResult::kReset:
      return rules_.refusals == Refusals::kForEver;
    case CallResult::kAnswered:
    case CallResult::kServerGone:
      break;
  }
  return false;
}

std::optional<RetrySchedule::Attempt> RetrySchedule::OnResult(
    const grpc::Status& status, absl::Time begin, absl::Time now) {
  const CallResult result = Classify(status);
  if (result == CallResult::kAnswered) {
    return std::nullopt;
  }
  if (IsServerThere(result)) {
    gone_since_.reset();
    const absl::Duration delay = DelayAfter(result, status, /*at_once=*/true);
    return Attempt{delay, now + delay + rules_.patience};
  }
  const bool first = !gone_since_.has_value();
  // A call that lasted had reached a server, so the server has not been gone
  // all the time. A long WaitExecution, for instance, meets many restarts.
  const bool lasted = now - begin > rules_.interval &&
                      result != CallResult::kNoAnswer &&
                      (result != CallResult::kRefusedForNow ||
                       GetErrorReason(status) == corral::v1::SERVER_DRAINING);
  if (first || lasted) {
    gone_since_ = now;
  }
  const absl::Duration delay = DelayAfter(result, status, first || lasted);
  const absl::Time deadline = *gone_since_ + rules_.patience;
  return now < deadline ? std::make_optional(Attempt{delay, deadline})
                        : std::nullopt;
}

}  // namespace client
