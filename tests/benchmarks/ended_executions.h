// The records of many sandboxes and their ended executions, as a server leaves
// them behind when the host goes down. Nothing runs in them.

#ifndef TESTS_BENCHMARKS_ENDED_EXECUTIONS_H_
#define TESTS_BENCHMARKS_ENDED_EXECUTIONS_H_

#include <string>

#include "absl/status/status.h"

namespace tests {

inline constexpr int kRecordedSandboxes = 100;

// Writes `executions_per_sandbox` records for each of kRecordedSandboxes into a
// state directory that no server uses.
absl::Status WriteEndedExecutions(const std::string& state_directory,
                                  int executions_per_sandbox);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_ENDED_EXECUTIONS_H_
