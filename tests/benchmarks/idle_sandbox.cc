#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/processes.h"
#include "tests/benchmarks/samples.h"
#include "tests/benchmarks/sandbox_processes.h"

namespace tests {
namespace {

constexpr int kRounds = 10;
constexpr absl::Duration kIdle = absl::Seconds(5);
// Covers what a sandbox does after a command.
constexpr absl::Duration kRest = absl::Seconds(2);

absl::StatusOr<double> SumKilobytes(const std::set<pid_t>& processes) {
  double sum = 0;
  for (const pid_t pid : processes) {
    ASSIGN_OR_RETURN(const double kilobytes, ReadPssKilobytes(pid));
    sum += kilobytes;
  }
  return sum;
}

// Makes a sandbox in which a command has run and returns the memory of its
// processes. If `wake_ups` is not null, adds how often they wake up.
absl::StatusOr<double> MeasureOnce(const Setting& setting, Samples* wake_ups) {
  ASSIGN_OR_RETURN(const std::string sandbox,
                   setting.corral.CreateSandbox(setting.workspace));
  ASSIGN_OR_RETURN(const SandboxProcesses processes,
                   FindProcesses(setting.corral, sandbox, setting.server_pid));
  RETURN_IF_ERROR(setting.corral.RunCommand(sandbox, {"/bin/true"}).status());
  absl::SleepFor(kRest);
  absl::StatusOr<double> sum = SumKilobytes(processes.all);
  if (wake_ups != nullptr) {
    const int64_t before = ReadSwitches(processes.all);
    absl::SleepFor(kIdle);
    wake_ups->Add(static_cast<double>(ReadSwitches(processes.all) - before));
  }
  RETURN_IF_ERROR(setting.corral.DeleteSandbox(sandbox));
  return sum;
}

}  // namespace

absl::Status MeasureIdleSandbox(const Setting& setting) {
  Samples memory;
  Samples wake_ups;
  for (int round = 0; round < kRounds; ++round) {
    ASSIGN_OR_RETURN(const double kilobytes,
                     MeasureOnce(setting, round < 2 ? &wake_ups : nullptr));
    memory.Add(kilobytes);
  }
  setting.report.Add({"PSS of the processes of an idle sandbox",
                      "kB",
                      memory,
                      "",
                      {},
                      Goal::AtMost(1200),
                      ""});
  setting.report.Add({"context switches of an idle sandbox in 5 s",
                      "",
                      wake_ups,
                      "",
                      {},
                      Goal::AtMost(0),
                      ""});
  return absl::OkStatus();
}

}  // namespace tests
