// One client that keeps sandboxes busy over one call of RunExecutions: each
// command that has ended makes place for the next one of its sandbox.
//
// Not thread-safe.

#ifndef TESTS_BENCHMARKS_RUN_LOOP_H_
#define TESTS_BENCHMARKS_RUN_LOOP_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/execution_service.grpc.pb.h"

namespace tests {

// The command `argv` in each of the sandboxes, `depth` times at once.
struct RunLoad {
  std::vector<std::string> sandboxes;
  std::vector<std::string> argv;
  size_t depth;
};

// Starts commands for this time, or until `most` were started, and waits for
// their ends. Returns how many there were a second. An error: a command was not
// started, or did not exit with 0.
absl::StatusOr<double> RunLoop(corral::v1::ExecutionService::Stub& client,
                               const RunLoad& load, absl::Duration time,
                               size_t most);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_RUN_LOOP_H_
