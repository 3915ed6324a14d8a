// Reads the details of corral.v1 errors: everything beyond code and message.

#ifndef BRIDGE_CLIENT_ERROR_DETAILS_H_
#define BRIDGE_CLIENT_ERROR_DETAILS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"
#include "grpcpp/support/status.h"

namespace client {

// The same code and message. If the details hold a BadRequest, the message
// names its fields, and GetField() finds the first of them.
absl::Status ToStatus(const grpc::Status& status);

// The field that a status of ToStatus() refuses, like
// "sandbox.mounts[1].source". Empty: it refuses none.
std::string GetField(const absl::Status& status);

// The reason in the ErrorInfo, or ERROR_REASON_UNSPECIFIED if there is none.
corral::v1::ErrorReason GetErrorReason(const grpc::Status& status);

// The delay in the RetryInfo, or zero if there is none.
absl::Duration GetRetryDelay(const grpc::Status& status);

}  // namespace client

#endif  // BRIDGE_CLIENT_ERROR_DETAILS_H_
