#include "bridge/client/call.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace client {
namespace {

// Between two attempts at a server that answers, but refuses or fails.
constexpr absl::Duration kRetryInterval = absl::Milliseconds(100);

grpc::Status Gone(const Connection& connection, absl::Duration patience) {
  return {grpc::StatusCode::UNAVAILABLE,
          absl::StrCat("the server at ", connection.address(),
                       " has been gone for ", absl::FormatDuration(patience))};
}

}  // namespace

grpc::Status Repeat(
    Connection& connection,
    const std::function<grpc::Status(grpc::ClientContext&)>& attempt,
    absl::Duration patience) {
  absl::Time gone_since = absl::InfiniteFuture();
  for (;;) {
    const absl::Time begin = absl::Now();
    grpc::ClientContext context;
    grpc::Status status = attempt(context);
    if (!IsServerGone(status)) {
      return status;
    }
    // A call that lasted had a server, for instance one that is restarted again
    // and again while an end is awaited.
    const absl::Time now = absl::Now();
    const corral::v1::ErrorReason reason = GetErrorReason(status);
    const bool lasted =
        now - begin > kRetryInterval && reason != corral::v1::SANDBOX_NOT_READY;
    if (lasted || gone_since == absl::InfiniteFuture()) {
      gone_since = now;
    } else {
      absl::SleepFor(kRetryInterval);
    }
    if (reason != corral::v1::ERROR_REASON_UNSPECIFIED) {
      if (now - gone_since >= patience) {
        return status;
      }
      absl::SleepFor(kRetryInterval);
    }
    if (!connection.Reconnect(gone_since + patience)) {
      return Gone(connection, patience);
    }
  }
}

grpc::Status AttemptOnce(
    Connection& connection,
    const std::function<grpc::Status(grpc::ClientContext&)>& attempt,
    absl::Duration patience) {
  if (!connection.Reconnect(absl::Now() + patience)) {
    return Gone(connection, patience);
  }
  grpc::ClientContext context;
  grpc::Status status = attempt(context);
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
      GetErrorReason(status) == corral::v1::ERROR_REASON_UNSPECIFIED) {
    return {grpc::StatusCode::UNAVAILABLE,
            absl::StrCat("the server at ", connection.address(),
                         " went away during the call; whether it had effect "
                         "is not known (",
                         status.error_message(), ")")};
  }
  return status;
}

}  // namespace client
