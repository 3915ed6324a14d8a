// Times of the API as options have them.

#ifndef BRIDGE_CLI_DURATION_FIELD_H_
#define BRIDGE_CLI_DURATION_FIELD_H_

#include <string>

#include "absl/status/status.h"
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

// As ParseDuration(); the error (InvalidArgument) says what is allowed.
absl::Status SetDuration(absl::string_view text, const DurationRange& range,
                         google::protobuf::Duration& field);

// For people: "1m30s".
std::string FormatDuration(const google::protobuf::Duration& field);

}  // namespace bridge

#endif  // BRIDGE_CLI_DURATION_FIELD_H_
