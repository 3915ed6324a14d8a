#include "server/api/grpc_status.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "corral/v1/error_reason.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"
#include "sandbox/base/log.h"
#include "server/api/errors.h"

namespace server {

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  if (status.ok()) {
    return {};
  }
  if (ReasonOf(status) == corral::v1::ERROR_REASON_UNSPECIFIED) {
    return ToRpcStatus(ServerFault("server", status));
  }
  if (status.code() == absl::StatusCode::kInternal) {
    LOG(ERROR) << status.message();
  }
  google::rpc::Status wire;
  wire.set_code(static_cast<int>(status.code()));
  wire.set_message(std::string(status.message()));
  status.ForEachPayload(
      [&wire](absl::string_view type, const absl::Cord& value) {
        auto* detail = wire.add_details();
        detail->set_type_url(std::string(type));
        detail->set_value(std::string(value));
      });
  return wire;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  if (absl::IsCancelled(status)) {
    return grpc::Status::CANCELLED;
  }
  const google::rpc::Status wire = ToRpcStatus(status);
  return grpc::Status(static_cast<grpc::StatusCode>(wire.code()),
                      wire.message(), wire.SerializeAsString());
}

}  // namespace server
