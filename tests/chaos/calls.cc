#include "tests/chaos/calls.h"

#include "absl/strings/str_cat.h"
#include "google/rpc/error_info.pb.h"
#include "google/rpc/status.pb.h"

namespace tests {

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  for (const auto& any : details.details()) {
    google::rpc::ErrorInfo info;
    if (any.UnpackTo(&info)) {
      return info.reason();
    }
  }
  return "";
}

bool IsServerAway(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
         ReasonOf(status) != "STORAGE_FAILED";
}

std::string ToString(const grpc::Status& status) {
  return status.ok()
             ? "OK"
             : absl::StrCat(status.error_code(), " ", status.error_message());
}

}  // namespace tests
