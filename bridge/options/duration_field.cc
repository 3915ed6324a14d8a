#include "bridge/options/duration_field.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "bridge/options/quantity.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text,
                                             const DurationRange& range) {
  ASSIGN_OR_RETURN(const absl::Duration duration, ParseDuration(text));
  if (duration < range.min || duration > range.max) {
    return absl::InvalidArgumentError(absl::StrCat("allowed is ", range.text));
  }
  return duration;
}

absl::Status SetDuration(absl::string_view text, const DurationRange& range,
                         google::protobuf::Duration& field) {
  ASSIGN_OR_RETURN(const absl::Duration duration, ParseDuration(text, range));
  const timespec parts = absl::ToTimespec(duration);
  field.set_seconds(parts.tv_sec);
  field.set_nanos(static_cast<int32_t>(parts.tv_nsec));
  return absl::OkStatus();
}

std::string FormatDuration(const google::protobuf::Duration& field) {
  return absl::FormatDuration(absl::Seconds(field.seconds()) +
                              absl::Nanoseconds(field.nanos()));
}

}  // namespace bridge
