#include "bridge/client/retry.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace client {
namespace {

// The longest time between two calls of `abandoned`.
constexpr absl::Duration kPollInterval = absl::Milliseconds(50);

}  // namespace

Retry::Retry(Connection& connection, CallOptions options)
    : connection_(connection),
      options_(std::move(options)),
      patience_(options_.patience.value_or(connection.timing().patience)),
      schedule_({patience_, connection.timing().retry_interval,
                 options_.timeouts, options_.refusals}),
      begin_(connection.timing().now()) {}

void Retry::Begin() { begin_ = connection_.timing().now(); }

void Retry::Begin(grpc::ClientContext& context) {
  Begin();
  const Timing& timing = connection_.timing();
  const absl::Duration timeout = options_.timeout.value_or(
      options_.timeouts == Timeouts::kRenewal ? timing.wait_renewal
                                              : timing.call_timeout);
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
}

bool Retry::ShouldRepeat(grpc::Status& status) {
  const auto attempt =
      schedule_.OnResult(status, begin_, connection_.timing().now());
  if (attempt.has_value() && Wait(attempt->delay) &&
      connection_.Reconnect(attempt->deadline, options_.abandoned)) {
    return true;
  }
  status = GaveUp(status);
  return false;
}

bool Retry::Wait(absl::Duration delay) {
  while (delay > absl::ZeroDuration() && !options_.abandoned()) {
    const absl::Duration step = std::min(delay, kPollInterval);
    absl::SleepFor(step);
    delay -= step;
  }
  return !options_.abandoned();
}

grpc::Status Retry::GaveUp(const grpc::Status& last) const {
  const std::string server =
      absl::StrCat("the server at ", connection_.address());
  switch (Classify(last)) {
    case CallResult::kAnswered:
    case CallResult::kRefusedForNow:
      return last;
    case CallResult::kReset:
      return {last.error_code(),
              absl::StrCat(server,
                           " is short of memory for requests, and has reset "
                           "the call again and again (",
                           last.error_message(), ")")};
    case CallResult::kServerGone:
      return {grpc::StatusCode::UNAVAILABLE,
              absl::StrCat(server, " has been gone for ",
                           absl::FormatDuration(patience_))};
    case CallResult::kNoAnswer:
      return {grpc::StatusCode::UNAVAILABLE,
              absl::StrCat(server, " has not answered for ",
                           absl::FormatDuration(patience_))};
  }
  return last;
}

}  // namespace client
