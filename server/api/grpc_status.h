// Converts absl::Status to the status of a gRPC call.

#ifndef SERVER_API_GRPC_STATUS_H_
#define SERVER_API_GRPC_STATUS_H_

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"

namespace server {

// The payloads become the details. An error that was not made by errors.h
// becomes SERVER_FAULT.
google::rpc::Status ToRpcStatus(const absl::Status& status);

// The details are a google.rpc.Status, see ToRpcStatus(). CANCELLED has none:
// it reports that the client cancelled its call.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace server

#endif  // SERVER_API_GRPC_STATUS_H_
