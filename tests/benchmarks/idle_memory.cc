#include <dirent.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/status_macros.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/samples.h"

namespace tests {
namespace {

constexpr int kRounds = 10;

// The parent's id of every process.
std::map<pid_t, pid_t> ReadParents() {
  std::map<pid_t, pid_t> parents;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  while (const dirent* entry = readdir(proc.get())) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) {
      continue;
    }
    std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
    std::string key;
    while (status >> key && key != "PPid:") {
    }
    pid_t parent = 0;
    if (status >> parent) {
      parents[pid] = parent;
    }
  }
  return parents;
}

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

absl::StatusOr<double> ReadPssKilobytes(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/smaps_rollup");
  std::ifstream rollup(path);
  std::string word;
  while (rollup >> word) {
    double kilobytes = 0;
    if (word == "Pss:" && rollup >> kilobytes) {
      return kilobytes;
    }
  }
  return absl::NotFoundError(absl::StrCat("no Pss in ", path));
}

// A supervisor, init and spawner: what a sandbox is while nothing runs in it.
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

// The largest sandbox of the server. (It may keep another one ready, which
// nothing ran in.)
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
