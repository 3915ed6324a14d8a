// The figures. Each function measures one family together with its references,
// in the same interleaved run, and adds its rows to the report.

#ifndef TESTS_BENCHMARKS_FIGURES_H_
#define TESTS_BENCHMARKS_FIGURES_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "tests/benchmarks/bare_server.h"
#include "tests/benchmarks/corral.h"
#include "tests/benchmarks/cost_plot.h"
#include "tests/benchmarks/report.h"

namespace tests {

struct Setting {
  Corral& corral;
  BareServer& bare;
  Report& report;
  CostPlot& plot;
  // "unix:PATH" of the corrald to measure, its process and its directory.
  std::string server;
  pid_t server_pid;
  std::string state_directory;
  // The directory that sandboxes see, with the programs of the benchmarks.
  std::string workspace;
  // A program in that directory that does nothing and has no C library.
  std::string nolibc_true;
  // An OCI bundle for crun, which runs /bin/true.
  std::string bundle;
  // A directory with the packages from npm. Empty: there is none.
  std::string peers;
  // True if figures with thousands of sandboxes are measured too.
  bool large;
};

// A command in an existing sandbox, compared with posix_spawn.
absl::Status MeasureWarmCommand(const Setting& setting);

// The same command started by the program corral, compared with posix_spawn.
absl::Status MeasureCommandLine(const Setting& setting);

// The system calls of a command in an existing sandbox, by process.
absl::Status MeasureSystemCalls(const Setting& setting);

// Commands in several sandboxes at once, compared with posix_spawn.
absl::Status MeasureThroughput(const Setting& setting);

// Many clients that start a command at the same moment, compared with
// posix_spawn.
absl::Status MeasureConcurrentCommands(const Setting& setting);

// A terminal through corral-acp, compared with a client on the official
// library that spawns locally.
absl::Status MeasureTerminal(const Setting& setting);

// A sandbox made for one command, compared with bubblewrap and crun.
absl::Status MeasureSandbox(const Setting& setting);

// The output of commands, compared with bare gRPC streams.
absl::Status MeasureOutput(const Setting& setting);

// The way of one line to the client while others write, compared with a pipe.
absl::Status MeasureFirstByte(const Setting& setting);

// The memory and the wake-ups of a sandbox in which nothing runs.
absl::Status MeasureIdleSandbox(const Setting& setting);

// The way out of a sandbox by name, compared with a plain proxy and a direct
// connection.
absl::Status MeasureWayOut(const Setting& setting);

// A server in a sandbox, reached at a published port, compared with socat.
absl::Status MeasurePublishedPort(const Setting& setting);

// Creating a sandbox, and a command in one, while there are many.
absl::Status MeasureManySandboxes(const Setting& setting);

// The memory and disk space of an ended execution.
absl::Status MeasureRetainedExecution(const Setting& setting);

// The start of a server, and lists, when there are many ended executions.
absl::Status MeasureServerStart(const Setting& setting);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_FIGURES_H_
