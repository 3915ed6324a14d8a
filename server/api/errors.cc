#include "server/api/errors.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"
#include "google/protobuf/message.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/error_info.pb.h"
#include "server/api/ascii_text.h"

namespace server {
namespace {

constexpr absl::Duration kScreenRetry = absl::Milliseconds(500);

using corral::v1::ErrorReason;

// Bytes of a value that an error shows.
constexpr size_t kShownBytes = 100;

std::string TypeUrl(const google::protobuf::Message& detail) {
  return absl::StrCat("type.googleapis.com/",
                      detail.GetDescriptor()->full_name());
}

void AddDetail(absl::Status* status, const google::protobuf::Message& detail) {
  status->SetPayload(TypeUrl(detail), absl::Cord(detail.SerializeAsString()));
}

void AddRetryInfo(absl::Status* status, absl::Duration retry_after) {
  google::rpc::RetryInfo retry;
  absl::Duration rest;
  retry.mutable_retry_delay()->set_seconds(
      absl::IDivDuration(retry_after, absl::Seconds(1), &rest));
  retry.mutable_retry_delay()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  AddDetail(status, retry);
}

std::string Show(absl::string_view value) {
  if (value.size() <= kShownBytes) {
    return absl::StrCat("\"", absl::CHexEscape(value), "\"");
  }
  return absl::StrCat("\"", absl::CHexEscape(value.substr(0, kShownBytes)),
                      "...\" (", value.size(), " bytes)");
}

absl::Status FieldViolation(absl::string_view field,
                            absl::string_view separator,
                            absl::string_view description) {
  absl::Status status =
      Error(absl::StatusCode::kInvalidArgument, corral::v1::INVALID_FIELD,
            absl::StrCat(field, separator, description));
  google::rpc::BadRequest bad_request;
  auto* violation = bad_request.add_field_violations();
  violation->set_field(std::string(field));
  violation->set_description(AsciiText(description));
  AddDetail(&status, bad_request);
  return status;
}

}  // namespace

absl::Status Error(absl::StatusCode code, ErrorReason reason,
                   absl::string_view message, const ErrorMetadata& metadata) {
  absl::Status status(code, AsciiText(message));
  google::rpc::ErrorInfo info;
  info.set_domain(kErrorDomain);
  info.set_reason(corral::v1::ErrorReason_Name(reason));
  for (const auto& [key, value] : metadata) {
    (*info.mutable_metadata())[key] = value;
  }
  AddDetail(&status, info);
  return status;
}

absl::Status InvalidField(absl::string_view field, absl::string_view value,
                          absl::string_view allowed) {
  return FieldViolation(
      field, " ", absl::StrCat("is ", Show(value), "; allowed: ", allowed));
}

absl::Status RefusedField(absl::string_view field, absl::string_view why) {
  return FieldViolation(field, ": ", why);
}

absl::Status SandboxNotFound(absl::string_view name) {
  return Error(absl::StatusCode::kNotFound, corral::v1::SANDBOX_NOT_FOUND,
               absl::StrCat("no sandbox ", name),
               {{"name", std::string(name)}});
}

absl::Status ExecutionNotFound(absl::string_view name) {
  return Error(absl::StatusCode::kNotFound, corral::v1::EXECUTION_NOT_FOUND,
               absl::StrCat("no execution ", name),
               {{"name", std::string(name)}});
}

absl::Status SandboxExists(absl::string_view name) {
  return Error(absl::StatusCode::kAlreadyExists, corral::v1::SANDBOX_EXISTS,
               absl::StrCat("sandbox ", name, " exists"),
               {{"name", std::string(name)}});
}

absl::Status ExecutionExists(absl::string_view name) {
  return Error(absl::StatusCode::kAlreadyExists, corral::v1::EXECUTION_EXISTS,
               absl::StrCat("execution ", name, " exists"),
               {{"name", std::string(name)}});
}

absl::Status SandboxNotReady(absl::string_view name, absl::string_view state) {
  return Error(absl::StatusCode::kFailedPrecondition,
               corral::v1::SANDBOX_NOT_READY,
               absl::StrCat("sandbox ", name, " is ", state),
               {{"name", std::string(name)}, {"state", std::string(state)}});
}

absl::Status SandboxUnavailable(absl::string_view name, absl::string_view why,
                                absl::Duration retry_after,
                                absl::string_view state) {
  absl::Status status =
      Error(absl::StatusCode::kUnavailable, corral::v1::SANDBOX_NOT_READY,
            absl::StrCat("sandbox ", name, ": ", why),
            {{"name", std::string(name)}, {"state", std::string(state)}});
  AddRetryInfo(&status, retry_after);
  return status;
}

absl::Status ScreenUnavailable(absl::string_view name, absl::string_view why) {
  absl::Status status =
      Error(absl::StatusCode::kUnavailable, corral::v1::SCREEN_UNAVAILABLE,
            absl::StrCat("the screen of ", name, ": ", why),
            {{"name", std::string(name)}});
  AddRetryInfo(&status, kScreenRetry);
  return status;
}

absl::Status OffsetOutOfRange(absl::string_view message, uint64_t offset,
                              uint64_t end_offset) {
  return Error(absl::StatusCode::kOutOfRange, corral::v1::OFFSET_OUT_OF_RANGE,
               absl::StrCat(message, ": offset ", offset,
                            " is beyond the end, ", end_offset),
               {{"offset", absl::StrCat(offset)},
                {"end_offset", absl::StrCat(end_offset)}});
}

absl::Status OutputExpired(absl::string_view message, uint64_t begin_offset,
                           uint64_t end_offset) {
  return Error(absl::StatusCode::kOutOfRange, corral::v1::OUTPUT_EXPIRED,
               absl::StrCat(message, ": the output has expired"),
               {{"begin_offset", absl::StrCat(begin_offset)},
                {"end_offset", absl::StrCat(end_offset)}});
}

absl::Status RequestMismatch(absl::string_view request_id,
                             absl::string_view name) {
  return Error(absl::StatusCode::kAlreadyExists, corral::v1::REQUEST_MISMATCH,
               absl::StrCat("another request had the request_id ", request_id,
                            "; it made ", name),
               {{"name", std::string(name)}});
}

absl::Status PortRefused(absl::string_view name, uint32_t port) {
  return Error(
      absl::StatusCode::kFailedPrecondition, corral::v1::PORT_REFUSED,
      absl::StrCat("no server listens on port ", port, " in sandbox ", name),
      {{"name", std::string(name)}, {"port", absl::StrCat(port)}});
}

absl::Status PortTimedOut(absl::string_view name, uint32_t port,
                          absl::Duration waited) {
  return Error(absl::StatusCode::kFailedPrecondition,
               corral::v1::PORT_TIMED_OUT,
               absl::StrCat("the server on port ", port, " in sandbox ", name,
                            " has not accepted the connection for ",
                            absl::FormatDuration(waited)),
               {{"name", std::string(name)}, {"port", absl::StrCat(port)}});
}

absl::Status ConnectionReset(absl::string_view name, absl::string_view why) {
  return Error(absl::StatusCode::kAborted, corral::v1::CONNECTION_RESET,
               absl::StrCat("connection to sandbox ", name, ": ", why),
               {{"name", std::string(name)}});
}

absl::Status SandboxTooOld(absl::string_view name, absl::string_view lacks) {
  return Error(absl::StatusCode::kFailedPrecondition,
               corral::v1::SANDBOX_TOO_OLD,
               absl::StrCat("sandbox ", name,
                            " was made by an older version of Corral, without ",
                            lacks, "; a new sandbox has it"),
               {{"name", std::string(name)}});
}

absl::Status StorageFailed(absl::string_view where, const absl::Status& cause) {
  return Error(absl::StatusCode::kUnavailable, corral::v1::STORAGE_FAILED,
               absl::StrCat(where, ": ", cause.message()));
}

absl::Status ServerDraining(absl::Duration retry_after) {
  absl::Status status =
      Error(absl::StatusCode::kUnavailable, corral::v1::SERVER_DRAINING,
            "the server is going down and takes no new work");
  AddRetryInfo(&status, retry_after);
  return status;
}

absl::Status ProtectionsMissing(
    const std::vector<std::pair<std::string, std::string>>& missing) {
  google::rpc::PreconditionFailure failure;
  std::string names;
  for (const auto& [name, why] : missing) {
    auto* violation = failure.add_violations();
    violation->set_type("PROTECTION");
    violation->set_subject(name);
    violation->set_description(AsciiText(why));
    absl::StrAppend(&names, names.empty() ? "" : ", ", name, " (", why, ")");
  }
  absl::Status status = Error(
      absl::StatusCode::kFailedPrecondition, corral::v1::ISOLATION_UNAVAILABLE,
      absl::StrCat("the host does not enforce what the sandbox "
                   "demands: ",
                   names));
  AddDetail(&status, failure);
  return status;
}

absl::Status QuotaExceeded(ErrorReason reason, absl::string_view subject,
                           absl::string_view message) {
  absl::Status status =
      Error(absl::StatusCode::kResourceExhausted, reason, message);
  google::rpc::QuotaFailure failure;
  auto* violation = failure.add_violations();
  violation->set_subject(std::string(subject));
  violation->set_description(AsciiText(message));
  AddDetail(&status, failure);
  return status;
}

absl::Status TooManyCalls(size_t most, absl::Duration retry_after) {
  absl::Status status =
      QuotaExceeded(corral::v1::TOO_MANY_CALLS, "the server",
                    absl::StrCat("the server serves at most ", most,
                                 " streams and waiting calls at one time"));
  AddRetryInfo(&status, retry_after);
  return status;
}

absl::Status TooMuchInput(uint64_t most, absl::Duration retry_after) {
  absl::Status status = QuotaExceeded(
      corral::v1::TOO_MUCH_INPUT, "the server",
      absl::StrCat("of the ", most, " bytes of input that may wait for all ",
                   "commands, too few are left for this one"));
  AddRetryInfo(&status, retry_after);
  return status;
}

absl::Status ServerFault(absl::string_view where, const absl::Status& cause) {
  return Error(absl::StatusCode::kInternal, corral::v1::SERVER_FAULT,
               absl::StrCat(where, ": ", cause.message()));
}

ErrorReason ReasonOf(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  const auto payload = status.GetPayload(TypeUrl(info));
  ErrorReason reason = corral::v1::ERROR_REASON_UNSPECIFIED;
  if (payload.has_value() && info.ParseFromString(std::string(*payload))) {
    corral::v1::ErrorReason_Parse(info.reason(), &reason);
  }
  return reason;
}

}  // namespace server
