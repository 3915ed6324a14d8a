#include "tests/chaos/process_list.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tests {
namespace {

// The users of sandboxes, see sandbox/kernel/id_range.cc.
constexpr uid_t kFirstUser = 0x70000000;
constexpr uid_t kEndOfUsers = 0x80000000;

}  // namespace

bool ProcessEntry::IsCorrals() const {
  return absl::StartsWith(name, "corral") ||
         (user >= kFirstUser && user < kEndOfUsers);
}

std::optional<ProcessEntry> FindProcess(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  ProcessEntry process;
  process.pid = pid;
  std::string key;
  while (status >> key && key != "Uid:") {
    if (key == "Name:") {
      status >> process.name;
    } else if (key == "PPid:") {
      status >> process.parent;
    }
  }
  if (!(status >> process.user)) {
    return std::nullopt;
  }
  return process;
}

std::vector<ProcessEntry> ListProcesses() {
  std::vector<ProcessEntry> processes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end;
       !error && entry != end; entry.increment(error)) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry->path().filename().string(), &pid)) {
      if (const auto process = FindProcess(pid); process.has_value()) {
        processes.push_back(*process);
      }
    }
  }
  return processes;
}

}  // namespace tests
