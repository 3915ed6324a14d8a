// The figures. Each function measures one family together with its reference,
// in the same interleaved run, and prints its rows.

#ifndef TESTS_BENCHMARKS_FIGURES_H_
#define TESTS_BENCHMARKS_FIGURES_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "tests/benchmarks/bare_server.h"
#include "tests/benchmarks/corral.h"

namespace tests {

struct Setting {
  Corral& corral;
  BareServer& bare;
  // The directory that sandboxes see.
  std::string workspace;
  // A program in that directory that does nothing and has no C library.
  std::string nolibc_true;
  pid_t server_pid;
};

// A command in an existing sandbox, compared with posix_spawn.
absl::Status MeasureWarmCommand(const Setting& setting);

// The system calls of a command in an existing sandbox, by process.
absl::Status MeasureSystemCalls(const Setting& setting);

// Commands in several sandboxes at once, compared with posix_spawn.
absl::Status MeasureThroughput(const Setting& setting);

// A sandbox made for one command, compared with bubblewrap.
absl::Status MeasureSandbox(const Setting& setting);

// The output of one command, compared with a bare gRPC stream.
absl::Status MeasureOutput(const Setting& setting);

// The memory of a sandbox in which nothing runs.
absl::Status MeasureIdleMemory(const Setting& setting);

// The memory of the server and of a supervisor with many kept executions and
// many readers.
absl::Status MeasureRetainedMemory(const Setting& setting);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_FIGURES_H_
