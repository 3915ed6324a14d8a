// The reference for starting a command: posix_spawn, a pipe for its output,
// waitpid.

#ifndef TESTS_BENCHMARKS_SPAWN_H_
#define TESTS_BENCHMARKS_SPAWN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tests {

// Returns the time from before posix_spawn until the output has ended and the
// process was reaped. argv[0] is a path. Fails if the exit status is not 0.
absl::StatusOr<absl::Duration> TimeSpawn(const std::vector<std::string>& argv);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_SPAWN_H_
