#include "bridge/client/error_details.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/error_info.pb.h"
#include "google/rpc/status.pb.h"

namespace client {
namespace {

constexpr char kFieldPayload[] = "corral.v1/field";

// The first detail of type T, or an empty one.
template <typename T>
T Detail(const grpc::Status& status) {
  google::rpc::Status rich;
  T detail;
  if (rich.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& any : rich.details()) {
      if (any.UnpackTo(&detail)) {
        break;
      }
    }
  }
  return detail;
}

}  // namespace

absl::Status ToStatus(const grpc::Status& status) {
  std::string message = status.error_message();
  const auto bad = Detail<google::rpc::BadRequest>(status);
  for (const auto& violation : bad.field_violations()) {
    if (!absl::StrContains(message, violation.field())) {
      absl::StrAppend(&message, message.empty() ? "" : "; ", violation.field(),
                      ": ", violation.description());
    }
  }
  // Both enumerations are google.rpc.Code.
  absl::Status converted(static_cast<absl::StatusCode>(status.error_code()),
                         message);
  if (!bad.field_violations().empty()) {
    converted.SetPayload(kFieldPayload,
                         absl::Cord(bad.field_violations(0).field()));
  }
  return converted;
}

std::string GetField(const absl::Status& status) {
  const auto field = status.GetPayload(kFieldPayload);
  return field.has_value() ? static_cast<std::string>(*field) : "";
}

corral::v1::ErrorReason GetErrorReason(const grpc::Status& status) {
  const auto info = Detail<google::rpc::ErrorInfo>(status);
  corral::v1::ErrorReason reason = corral::v1::ERROR_REASON_UNSPECIFIED;
  if (info.domain() == "corral.v1") {
    corral::v1::ErrorReason_Parse(info.reason(), &reason);
  }
  return reason;
}

absl::Duration GetRetryDelay(const grpc::Status& status) {
  const auto delay = Detail<google::rpc::RetryInfo>(status).retry_delay();
  return absl::Seconds(delay.seconds()) + absl::Nanoseconds(delay.nanos());
}

}  // namespace client
