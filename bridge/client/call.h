// One unary call of corral.v1 that survives the loss of the server.
//
//   ASSIGN_OR_RETURN(
//       const corral::v1::Sandbox sandbox,
//       client::Call(connection,
//                    &corral::v1::SandboxService::StubInterface::GetSandbox,
//                    request));
//
// For calls that may be made twice: those that read, those that create
// something and have a request id, and WriteInput with an offset. Calls that
// delete use Delete(), a wait for the end of a command uses WaitForEnd().
// SignalExecution, and WriteInput without an offset, must not be made twice:
// they use CallOnce().
//
// Thread-safe; blocks.

#ifndef BRIDGE_CLIENT_CALL_H_
#define BRIDGE_CLIENT_CALL_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bridge/client/connection.h"
#include "bridge/client/error_details.h"
#include "bridge/client/retry.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"

namespace client {

using Attempt = std::function<grpc::Status(grpc::ClientContext&)>;

// Calls `attempt` until it ends with something else than the loss of the
// server, or until the server has been gone for the patience of `options`
// (Unavailable).
grpc::Status Repeat(Connection& connection, const Attempt& attempt,
                    const CallOptions& options = {});

// Waits for a server, up to Timing.patience, and calls `attempt` once. Fails
// with Unavailable if there was no server, or if it was lost during the call.
// Then the call may have had an effect, as the message says.
grpc::Status AttemptOnce(Connection& connection, const Attempt& attempt);

inline corral::v1::SandboxService::StubInterface& StubOf(
    Connection& connection, corral::v1::SandboxService::StubInterface*) {
  return connection.sandboxes();
}
inline corral::v1::ExecutionService::StubInterface& StubOf(
    Connection& connection, corral::v1::ExecutionService::StubInterface*) {
  return connection.executions();
}
inline corral::v1::ScreenService::StubInterface& StubOf(
    Connection& connection, corral::v1::ScreenService::StubInterface*) {
  return connection.screens();
}
inline corral::v1::AdminService::StubInterface& StubOf(
    Connection& connection, corral::v1::AdminService::StubInterface*) {
  return connection.admin();
}

template <typename Stub, typename Request, typename Response>
using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&,
                                      Response*);

template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Call(Connection& connection,
                              Method<Stub, Request, Response> method,
                              const Request& request,
                              const CallOptions& options = {}) {
  Stub& stub = StubOf(connection, static_cast<Stub*>(nullptr));
  Response response;
  const absl::Status status = ToStatus(Repeat(
      connection,
      [&](grpc::ClientContext& context) {
        return (stub.*method)(&context, request, &response);
      },
      options));
  if (!status.ok()) {
    return status;
  }
  return response;
}

// Calls DeleteSandbox or DeleteExecution, and waits for as long as the deletion
// takes. NotFound counts as success if an earlier attempt got no answer.
template <typename Stub, typename Request>
absl::Status Delete(Connection& connection,
                    Method<Stub, Request, google::protobuf::Empty> method,
                    const Request& request, CallOptions options = {}) {
  Stub& stub = StubOf(connection, static_cast<Stub*>(nullptr));
  options.timeouts = Timeouts::kRenewal;
  int attempts = 0;
  const absl::Status status = ToStatus(Repeat(
      connection,
      [&](grpc::ClientContext& context) {
        ++attempts;
        google::protobuf::Empty response;
        return (stub.*method)(&context, request, &response);
      },
      options));
  return attempts > 1 && absl::IsNotFound(status) ? absl::OkStatus() : status;
}

// The execution when it has ended, however long that takes: the wait is renewed
// every Timing.wait_renewal.
absl::StatusOr<corral::v1::Execution> WaitForEnd(Connection& connection,
                                                 const std::string& name);

template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> CallOnce(Connection& connection,
                                  Method<Stub, Request, Response> method,
                                  const Request& request) {
  Stub& stub = StubOf(connection, static_cast<Stub*>(nullptr));
  Response response;
  const absl::Status status =
      ToStatus(AttemptOnce(connection, [&](grpc::ClientContext& context) {
        return (stub.*method)(&context, request, &response);
      }));
  if (!status.ok()) {
    return status;
  }
  return response;
}

}  // namespace client

#endif  // BRIDGE_CLIENT_CALL_H_
