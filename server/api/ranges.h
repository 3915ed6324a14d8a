// The ranges of numbers that requests and the configuration share, as
// proto/corral/v1 and proto/corral/config/v1 state them.

#ifndef SERVER_API_RANGES_H_
#define SERVER_API_RANGES_H_

#include <cstdint>

namespace server {

// Both bounds are allowed values.
struct Range {
  uint64_t least;
  uint64_t most;

  constexpr bool Contains(uint64_t value) const {
    return value >= least && value <= most;
  }
};

inline constexpr uint64_t kSecondsOfADay = 86'400;
inline constexpr uint64_t kSecondsOfAYear = 365 * kSecondsOfADay;

// The fields of corral.v1.Limits.
inline constexpr Range kMemoryBytes = {4 << 20, 1ULL << 50};
inline constexpr Range kPids = {8, 4'194'304};
inline constexpr Range kCpuMillis = {10, 1'000'000};
inline constexpr Range kOutputBytes = {1 << 20, 1ULL << 50};
inline constexpr Range kFileBytes = {4 << 10, 1ULL << 50};
inline constexpr Range kDiskBytesPerSecond = {1 << 20, 1ULL << 50};
inline constexpr Range kDiskOperationsPerSecond = {10, 1'000'000'000};
inline constexpr Range kDiskBytes = {1 << 20, 1ULL << 50};
inline constexpr Range kDiskInodes = {16, UINT32_MAX};

// corral.v1.Command.user_id: the ids of accounts of people, except the
// sandbox's user.
inline constexpr Range kUserIds = {1001, 59'999};

// The fields of corral.v1.Retention.
inline constexpr Range kMaxEndedExecutions = {0, 100'000};

// The fields of corral.v1.OutputPolicy.
inline constexpr Range kRetainBytes = {64 << 10, 1ULL << 40};

}  // namespace server

#endif  // SERVER_API_RANGES_H_
