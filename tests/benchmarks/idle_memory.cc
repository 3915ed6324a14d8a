#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/process_memory.h"
#include "tests/benchmarks/samples.h"

namespace tests {
namespace {

constexpr int kRounds = 10;

std::set<pid_t> WithDescendants(pid_t root,
                                const std::map<pid_t, pid_t>& parents) {
  std::set<pid_t> found = {root};
  size_t before = 0;
  while (found.size() != before) {
    before = found.size();
    for (const auto& [pid, parent] : parents) {
      if (found.count(parent) > 0) {
        found.insert(pid);
      }
    }
  }
  return found;
}

// Supervisor, init and spawner: the processes of a sandbox in which nothing
// runs.
absl::StatusOr<double> SumKilobytes(const std::set<pid_t>& processes) {
  if (processes.size() != 3) {
    return absl::InternalError(absl::StrCat(
        "a sandbox should be 3 processes and is ", processes.size()));
  }
  double sum = 0;
  for (const pid_t pid : processes) {
    ASSIGN_OR_RETURN(const double kilobytes, ReadPssKilobytes(pid));
    sum += kilobytes;
  }
  return sum;
}

// The largest sandbox of the server. The server may keep another sandbox ready,
// in which nothing ran.
absl::StatusOr<double> LargestKilobytes(pid_t server_pid) {
  const std::map<pid_t, pid_t> parents = ReadParents();
  absl::StatusOr<double> largest =
      absl::NotFoundError("the server has no child processes");
  for (const auto& [pid, parent] : parents) {
    if (parent != server_pid) {
      continue;
    }
    absl::StatusOr<double> sum = SumKilobytes(WithDescendants(pid, parents));
    if (!largest.ok() || (sum.ok() && *sum > *largest)) {
      largest = sum;
    }
  }
  return largest;
}

absl::StatusOr<double> MeasureOnce(const Setting& setting) {
  ASSIGN_OR_RETURN(const std::string sandbox,
                   setting.corral.CreateSandbox(setting.workspace));
  RETURN_IF_ERROR(setting.corral.TimeCommand(sandbox, {"/bin/true"}).status());
  absl::StatusOr<double> sum = LargestKilobytes(setting.server_pid);
  RETURN_IF_ERROR(setting.corral.DeleteSandbox(sandbox));
  return sum;
}

}  // namespace

absl::Status MeasureIdleMemory(const Setting& setting) {
  constexpr double kGoalKilobytes = 3000;
  Samples memory;
  for (int round = 0; round < kRounds; ++round) {
    ASSIGN_OR_RETURN(const double kilobytes, MeasureOnce(setting));
    memory.Add(kilobytes);
  }
  PrintRow("PSS of supervisor, init and spawner", "kB", memory,
           absl::StrCat("goal at most 3000: ",
                        memory.Median() <= kGoalKilobytes ? "met" : "NOT met"));
  return absl::OkStatus();
}

}  // namespace tests
