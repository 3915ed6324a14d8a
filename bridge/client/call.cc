#include "bridge/client/call.h"

#include <cstdint>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace client {
namespace {

bool HasEnded(const corral::v1::Execution& execution) {
  return execution.state() != corral::v1::Execution::STARTING &&
         execution.state() != corral::v1::Execution::RUNNING;
}

}  // namespace

grpc::Status Repeat(Connection& connection, const Attempt& attempt,
                    const CallOptions& options) {
  Retry retry(connection, options);
  grpc::Status status;
  do {
    grpc::ClientContext context;
    retry.Begin(context);
    status = attempt(context);
  } while (retry.ShouldRepeat(status));
  return status;
}

grpc::Status AttemptOnce(Connection& connection, const Attempt& attempt) {
  const Timing& timing = connection.timing();
  if (!connection.Reconnect(timing.now() + timing.patience)) {
    return {grpc::StatusCode::UNAVAILABLE,
            absl::StrCat("the server at ", connection.address(),
                         " has been gone for ",
                         absl::FormatDuration(timing.patience))};
  }
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timing.call_timeout));
  const grpc::Status status = attempt(context);
  switch (Classify(status)) {
    case CallResult::kAnswered:
    case CallResult::kRefusedForNow:
      return status;
    case CallResult::kReset:
    case CallResult::kServerGone:
    case CallResult::kNoAnswer:
      return {grpc::StatusCode::UNAVAILABLE,
              absl::StrCat("the server at ", connection.address(),
                           " was lost during the call; whether the call had "
                           "effect is not known (",
                           status.error_message(), ")")};
  }
  return status;
}

absl::StatusOr<corral::v1::Execution> WaitForEnd(Connection& connection,
                                                 const std::string& name) {
  const Timing& timing = connection.timing();
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  const timespec renewal = absl::ToTimespec(timing.wait_renewal);
  request.mutable_timeout()->set_seconds(renewal.tv_sec);
  request.mutable_timeout()->set_nanos(static_cast<int32_t>(renewal.tv_nsec));
  CallOptions options;
  options.timeout = timing.wait_renewal + timing.call_timeout;
  for (;;) {
    absl::StatusOr<corral::v1::Execution> execution = Call(
        connection, &corral::v1::ExecutionService::StubInterface::WaitExecution,
        request, options);
    if (!execution.ok() || HasEnded(*execution)) {
      return execution;
    }
  }
}

}  // namespace client
