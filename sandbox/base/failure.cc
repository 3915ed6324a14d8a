#include "sandbox/base/failure.h"

#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sandbox {
namespace {

constexpr char kPayload[] = "corral.supervisor.v1.Reply.Failure";

}  // namespace

absl::Status MakeFailure(wire::Reply::Failure kind, absl::string_view message) {
  return kind == wire::Reply::NONE
             ? absl::OkStatus()
             : WithFailure(kind, absl::UnknownError(message));
}

absl::Status WithFailure(wire::Reply::Failure kind, absl::Status status) {
  if (!status.ok() && !status.GetPayload(kPayload).has_value()) {
    status.SetPayload(kPayload, absl::Cord(absl::StrCat(kind)));
  }
  return status;
}

wire::Reply::Failure FailureOf(const absl::Status& status) {
  if (status.ok()) {
    return wire::Reply::NONE;
  }
  const auto payload = status.GetPayload(kPayload);
  int kind = 0;
  return payload.has_value() &&
                 absl::SimpleAtoi(std::string(*payload), &kind) &&
                 wire::Reply::Failure_IsValid(kind) && kind != wire::Reply::NONE
             ? static_cast<wire::Reply::Failure>(kind)
             : wire::Reply::FAULT;
}

}  // namespace sandbox
