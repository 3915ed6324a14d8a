// The figures: each function measures one family, with its reference in the
// same interleaved run, and prints its rows.

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
  // Directory that sandboxes see.
  std::string workspace;
  // A program in it that does nothing and has no C library.
  std::string nolibc_true;
  pid_t server_pid;
};

// A command in a sandbox that exists, against posix_spawn.
absl::Status MeasureWarmCommand(const Setting& setting);

// A sandbox made for one command, against bubblewrap.
absl::Status MeasureSandbox(const Setting& setting);

// One command's output, against a bare gRPC stream.
absl::Status MeasureOutput(const Setting& setting);

// The memory of a sandbox in which nothing runs.
absl::Status MeasureIdleMemory(const Setting& setting);

// The memory of the server and of a supervisor that keep much and are read by
// many.
absl::Status MeasureRetainedMemory(const Setting& setting);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_FIGURES_H_
