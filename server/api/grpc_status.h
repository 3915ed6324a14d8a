// absl::Status on the wire.

#ifndef SERVER_API_GRPC_STATUS_H_
#define SERVER_API_GRPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace server {

// The payloads become the details of a google.rpc.Status. An error that
// errors.h did not make is a fault of the server's and becomes SERVER_FAULT,
// unless it says that the client has cancelled its call.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace server

#endif  // SERVER_API_GRPC_STATUS_H_
