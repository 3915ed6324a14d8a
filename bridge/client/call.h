// One unary call of corral.v1 that survives the loss of the server.
//
//   ASSIGN_OR_RETURN(
//       const corral::v1::Sandbox sandbox,
//       client::Call(connection,
//                    &corral::v1::SandboxService::StubInterface::GetSandbox,
//                    request));
//
// For calls that may be made twice: those that read or wait, those that delete
// (see Delete()), WriteInput with an offset, and those that create something,
// with a request id. SignalExecution and WriteInput without an offset are none:
// see CallOnce().
//
// Thread-safe; blocks.

#ifndef BRIDGE_CLIENT_CALL_H_
#define BRIDGE_CLIENT_CALL_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/client/connection.h"

namespace client {

// Makes `attempt` until it ends with something else than the loss of the
// server (IsServerGone), or until the server has been gone for `patience`.
// Unavailable then.
grpc::Status Repeat(
    Connection& connection,
    const std::function<grpc::Status(grpc::ClientContext&)>& attempt,
    absl::Duration patience = kPatience);

// Waits up to `patience` for a server, and makes `attempt` once. Unavailable:
// there was none; or it went away during the call, and whether that had effect
// is not known, as the message says.
grpc::Status AttemptOnce(
    Connection& connection,
    const std::function<grpc::Status(grpc::ClientContext&)>& attempt,
    absl::Duration patience = kPatience);

inline corral::v1::SandboxService::StubInterface& StubOf(
    Connection& connection, corral::v1::SandboxService::StubInterface*) {
  return connection.sandboxes();
}
inline corral::v1::ExecutionService::StubInterface& StubOf(
    Connection& connection, corral::v1::ExecutionService::StubInterface*) {
  return connection.executions();
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
                              absl::Duration patience = kPatience) {
  Stub& stub = StubOf(connection, static_cast<Stub*>(nullptr));
  Response response;
  const absl::Status status = ToStatus(Repeat(
      connection,
      [&](grpc::ClientContext& context) {
        return (stub.*method)(&context, request, &response);
      },
      patience));
  if (!status.ok()) {
    return status;
  }
  return response;
}

// For calls that delete: NotFound is success if a call before was not answered.
// Otherwise as Call().
template <typename Stub, typename Request>
absl::Status Delete(Connection& connection,
                    grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                 const Request&,
                                                 google::protobuf::Empty*),
                    const Request& request,
                    absl::Duration patience = kPatience) {
  Stub& stub = StubOf(connection, static_cast<Stub*>(nullptr));
  int attempts = 0;
  const absl::Status status = ToStatus(Repeat(
      connection,
      [&](grpc::ClientContext& context) {
        ++attempts;
        google::protobuf::Empty response;
        return (stub.*method)(&context, request, &response);
      },
      patience));
  return attempts > 1 && absl::IsNotFound(status) ? absl::OkStatus() : status;
}

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
