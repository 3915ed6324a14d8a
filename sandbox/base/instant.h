// A moment by the clocks of this host.
//
// Thread-safe. Reads clocks without a system call where the kernel offers that.

#ifndef SANDBOX_BASE_INSTANT_H_
#define SANDBOX_BASE_INSTANT_H_

#include <time.h>

#include <cstdint>

namespace sandbox {

inline int64_t ReadClock(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Nanoseconds of the monotonic clock, which all processes of the host share.
// Only differences mean anything.
inline int64_t MonotonicNanoseconds() { return ReadClock(CLOCK_MONOTONIC); }

// The same moment by two clocks, in nanoseconds.
struct Instant {
  // The wall clock, since 1970. May jump, also backwards.
  int64_t unix_ns = 0;
  // See MonotonicNanoseconds().
  int64_t monotonic_ns = 0;

  static Instant Now() {
    return {ReadClock(CLOCK_REALTIME), MonotonicNanoseconds()};
  }
};

}  // namespace sandbox

#endif  // SANDBOX_BASE_INSTANT_H_
