// Fields of type Duration, set from the values of options.

#ifndef BRIDGE_OPTIONS_DURATION_FIELD_H_
#define BRIDGE_OPTIONS_DURATION_FIELD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace bridge {

// Both ends are included.
struct DurationRange {
  absl::Duration min;
  absl::Duration max;
  absl::string_view text;  // "1ms to 365d"
};

// The range of Command.wall_timeout and cpu_timeout.
inline constexpr DurationRange kTimeoutRange = {
    absl::Milliseconds(1), absl::Hours(365 * 24), "1ms to 365d"};

// Parse as ParseDuration() in quantity.h. The error (InvalidArgument) says what
// is allowed.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text,
                                             const DurationRange& range);
absl::Status SetDuration(absl::string_view text, const DurationRange& range,
                         google::protobuf::Duration& field);

// Returns text for people: "1m30s".
std::string FormatDuration(const google::protobuf::Duration& field);

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_DURATION_FIELD_H_
