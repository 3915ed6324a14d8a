#include "bridge/acp/terminals/errors.h"

#include <string.h>

#include "absl/strings/str_cat.h"

namespace bridge {

Error UnknownTerminal(const std::string& terminal_id) {
  return {ErrorCode::kResourceNotFound,
          "Resource not found",
          {{"terminalId", terminal_id}}};
}

Error UnknownSession(const std::string& session_id) {
  return {ErrorCode::kResourceNotFound,
          "Resource not found",
          {{"sessionId", session_id}}};
}

Error UnknownMethod(const std::string& method) {
  return {ErrorCode::kMethodNotFound, "Method not found", {{"method", method}}};
}

Error Cancelled() {
  return {ErrorCode::kRequestCancelled, "Request cancelled", nullptr};
}

Error FromStatus(const absl::Status& status) {
  const Json data = {{"details", static_cast<std::string>(status.message())},
                     {"reason", absl::StatusCodeToString(status.code())}};
  if (absl::IsInvalidArgument(status)) {
    return {ErrorCode::kInvalidParams, "Invalid params", data};
  }
  return {ErrorCode::kInternal, "Internal error", data};
}

Error StartFailed(absl::string_view program,
                  const corral::v1::StartFailure& failure) {
  const char* name = ::strerrorname_np(failure.errno_value());
  const std::string errno_name =
      name == nullptr ? absl::StrCat("errno ", failure.errno_value()) : name;
  const std::string stage =
      corral::v1::StartFailure::Stage_Name(failure.stage());
  return {ErrorCode::kInternal,
          "Internal error",
          {{"details", absl::StrCat("spawn ", program, " ", errno_name, ": ",
                                    failure.message())},
           {"stage", stage},
           {"errno", errno_name}}};
}

}  // namespace bridge
