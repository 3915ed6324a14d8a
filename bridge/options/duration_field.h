// Times of the API as options have them.

#ifndef BRIDGE_OPTIONS_DURATION_FIELD_H_
#define BRIDGE_OPTIONS_DURATION_FIELD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace bridge {

// Both ends are allowed.
struct DurationRange {
  absl::Duration min;
  absl::Duration max;
  absl::string_view text;  // "1ms to 365d"
};

// Of a command's wall_timeout and cpu_timeout.
inline constexpr DurationRange kTimeoutRange = {
    absl::Milliseconds(1), absl::Hours(365 * 24), "1ms to 365d"};

// As ParseDuration(); the error (InvalidArgument) says what is allowed.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text,
                                             const DurationRange& range);
absl::Status SetDuration(absl::string_view text, const DurationRange& range,
                         google::protobuf::Duration& field);

// For people: "1m30s".
std::string FormatDuration(const google::protobuf::Duration& field);

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_DURATION_FIELD_H_
