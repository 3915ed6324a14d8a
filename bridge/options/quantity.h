// Parses and writes amounts in the form that people use.

#ifndef BRIDGE_OPTIONS_QUANTITY_H_
#define BRIDGE_OPTIONS_QUANTITY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace bridge {

// The errors (InvalidArgument) say what is allowed; the caller adds the value.

// Parses 100, 64K, 512M, 1.5G, 2T: powers of 1024, in upper or lower case, also
// as KB or KiB.
absl::StatusOr<uint64_t> ParseBytes(absl::string_view text);

// Parses 250ms, 30s, 5m, 1h30m, 2d; a bare number is seconds. Not negative.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);

// Parses 2, 1.5, 0.25 as CPUs, and returns thousandths.
absl::StatusOr<uint64_t> ParseCpuMillis(absl::string_view text);

// A whole number.
absl::StatusOr<uint64_t> ParseCount(absl::string_view text);

// Returns "512 MiB", "1.5 GiB", "100 bytes".
std::string FormatBytes(uint64_t bytes);

// The two largest units, as in "3d4h", "2m5s", "0s".
std::string FormatAge(absl::Duration age);

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_QUANTITY_H_
