#include "tests/benchmarks/processes.h"

#include <dirent.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"

namespace tests {
namespace {

// The entries of a directory that are numbers.
std::vector<pid_t> ReadIds(const std::string& path) {
  std::vector<pid_t> ids;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()),
                                                      closedir);
  if (directory == nullptr) {
    return ids;
  }
  while (const dirent* entry = readdir(directory.get())) {
    pid_t id = 0;
    if (absl::SimpleAtoi(entry->d_name, &id)) {
      ids.push_back(id);
    }
  }
  return ids;
}

// The first number after `key` in a file of keys and numbers.
absl::StatusOr<int64_t> ReadNumber(const std::string& path,
                                   const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    int64_t number = 0;
    if (word == key && file >> number) {
      return number;
    }
  }
  return absl::NotFoundError(absl::StrCat("no ", key, " in ", path));
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Threads(const std::set<pid_t>& processes) {
  std::vector<std::string> paths;
  for (const pid_t pid : processes) {
    const std::string tasks = absl::StrCat("/proc/", pid, "/task");
    for (const pid_t thread : ReadIds(tasks)) {
      paths.push_back(absl::StrCat(tasks, "/", thread));
    }
  }
  return paths;
}

}  // namespace

std::map<pid_t, pid_t> ReadParents() {
  std::map<pid_t, pid_t> parents;
  for (const pid_t pid : ReadIds("/proc")) {
    const absl::StatusOr<int64_t> parent =
        ReadNumber(absl::StrCat("/proc/", pid, "/status"), "PPid:");
    if (parent.ok()) {
      parents[pid] = static_cast<pid_t>(*parent);
    }
  }
  return parents;
}

std::set<pid_t> ReadTree(pid_t root) {
  const std::map<pid_t, pid_t> parents = ReadParents();
  std::set<pid_t> tree = {root};
  size_t before = 0;
  while (tree.size() != before) {
    before = tree.size();
    for (const auto& [pid, parent] : parents) {
      if (tree.count(parent) > 0) {
        tree.insert(pid);
      }
    }
  }
  return tree;
}

std::string ReadName(pid_t pid) {
  std::string name = ReadText(absl::StrCat("/proc/", pid, "/comm"));
  return name.substr(0, name.find('\n'));
}

std::string ReadArguments(pid_t pid) {
  return ReadText(absl::StrCat("/proc/", pid, "/cmdline"));
}

absl::StatusOr<double> ReadPssKilobytes(pid_t pid) {
  ASSIGN_OR_RETURN(
      const int64_t kilobytes,
      ReadNumber(absl::StrCat("/proc/", pid, "/smaps_rollup"), "Pss:"));
  return static_cast<double>(kilobytes);
}

absl::StatusOr<double> ReadPrivateKilobytes(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/smaps_rollup");
  ASSIGN_OR_RETURN(const int64_t clean, ReadNumber(path, "Private_Clean:"));
  ASSIGN_OR_RETURN(const int64_t dirty, ReadNumber(path, "Private_Dirty:"));
  return static_cast<double>(clean + dirty);
}

int64_t ReadSwitches(const std::set<pid_t>& processes) {
  int64_t switches = 0;
  for (const std::string& thread : Threads(processes)) {
    for (const char* key :
         {"voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"}) {
      switches += ReadNumber(absl::StrCat(thread, "/status"), key).value_or(0);
    }
  }
  return switches;
}

absl::Duration ReadCpuTime(const std::set<pid_t>& processes) {
  int64_t nanoseconds = 0;
  for (const std::string& thread : Threads(processes)) {
    int64_t ran = 0;
    std::ifstream(absl::StrCat(thread, "/schedstat")) >> ran;
    nanoseconds += ran;
  }
  return absl::Nanoseconds(nanoseconds);
}

}  // namespace tests
