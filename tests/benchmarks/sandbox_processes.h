// The processes that make up a sandbox.

#ifndef TESTS_BENCHMARKS_SANDBOX_PROCESSES_H_
#define TESTS_BENCHMARKS_SANDBOX_PROCESSES_H_

#include <sys/types.h>

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "tests/benchmarks/corral.h"

namespace tests {

struct SandboxProcesses {
  pid_t supervisor;
  pid_t spawner;
  // Supervisor, the process beside it that makes calls for commands, spawner
  // and init.
  std::set<pid_t> all;
};

// Finds the processes of `sandbox` by a command that it runs there for a
// moment: a server keeps further sandboxes ready. Leaves no execution behind.
absl::StatusOr<SandboxProcesses> FindProcesses(Corral& corral,
                                               const std::string& sandbox,
                                               pid_t server);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_SANDBOX_PROCESSES_H_
