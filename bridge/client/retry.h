// One call, or one stream, that is made again after the server was gone.
//
//   Retry retry(connection, {});
//   do {
//     grpc::ClientContext context;
//     retry.Begin(context);
//     status = stub.Method(&context, request, &response);
//   } while (retry.ShouldRepeat(status));
//
// All calls of the bridges and of the command line that are repeated use it;
// most through Call(). Belongs to one thread.

#ifndef BRIDGE_CLIENT_RETRY_H_
#define BRIDGE_CLIENT_RETRY_H_

#include <functional>
#include <optional>

#include "absl/time/time.h"
#include "bridge/client/connection.h"
#include "bridge/client/retry_schedule.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

namespace client {

struct CallOptions {
  // Default: those of the connection's Timing. `timeout` is for one attempt:
  // call_timeout, or with Timeouts::kRenewal wait_renewal.
  std::optional<absl::Duration> patience = {};
  std::optional<absl::Duration> timeout = {};

  Timeouts timeouts = Timeouts::kServerLost;
  Refusals refusals = Refusals::kForPatience;

  // Called several times a second while the server is gone; returns true to
  // give up.
  std::function<bool()> abandoned = [] { return false; };
};

class Retry {
 public:
  // The connection must outlive this object.
  Retry(Connection& connection, CallOptions options);

  // Call it before each attempt. Sets the deadline of the context.
  void Begin(grpc::ClientContext& context);

  // The same for an attempt without a deadline.
  void Begin();

  // Call it after an attempt. If the call is to be made again, blocks until it
  // can be and returns true. Otherwise returns false, and `status` is the
  // result; it says how long the server was gone if that is why the call is
  // given up.
  bool ShouldRepeat(grpc::Status& status);

  // The server sent something: an outage is over.
  void OnAnswer() { schedule_.OnAnswer(); }

 private:
  // Returns false if the call was abandoned.
  bool Wait(absl::Duration delay);
  grpc::Status GaveUp(const grpc::Status& last) const;

  Connection& connection_;
  const CallOptions options_;
  const absl::Duration patience_;
  RetrySchedule schedule_;
  absl::Time begin_;
};

}  // namespace client

#endif  // BRIDGE_CLIENT_RETRY_H_
