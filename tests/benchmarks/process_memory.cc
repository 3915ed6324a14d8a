#include "tests/benchmarks/process_memory.h"

#include <dirent.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tests {

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

}  // namespace tests
