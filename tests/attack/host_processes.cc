#include "tests/attack/host_processes.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sandbox/base/unique_fd.h"

namespace tests {
namespace {

// The number of ids of each sandbox; see sandbox/kernel/id_range.h.
constexpr uid_t kIdRange = 65536;

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<pid_t> AllPids() {
  std::vector<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) {
      pids.push_back(std::stoi(name));
    }
  }
  return pids;
}

}  // namespace

std::optional<HostProcess> FindProcess(pid_t pid) {
  std::istringstream status(Read("/proc/" + std::to_string(pid) + "/status"));
  HostProcess process;
  process.pid = pid;
  for (std::string line; std::getline(status, line);) {
    std::istringstream fields(line);
    std::string key;
    fields >> key;
    if (key == "State:") {
      fields >> process.state;
    } else if (key == "PPid:") {
      fields >> process.parent;
    } else if (key == "Uid:") {
      fields >> process.user;
      return process;
    }
  }
  return std::nullopt;
}

std::optional<HostProcess> FindProcess(const std::string& text) {
  for (const pid_t pid : AllPids()) {
    const std::string line = Read("/proc/" + std::to_string(pid) + "/cmdline");
    if (line.find(text) != std::string::npos) {
      return FindProcess(pid);
    }
  }
  return std::nullopt;
}

std::vector<HostProcess> ProcessesOfSandbox(uid_t user) {
  std::vector<HostProcess> found;
  for (const pid_t pid : AllPids()) {
    const std::optional<HostProcess> process = FindProcess(pid);
    if (process.has_value() && process->state != 'Z' &&
        process->user / kIdRange == user / kIdRange) {
      found.push_back(*process);
    }
  }
  return found;
}

void WaitForEnd(const std::vector<HostProcess>& processes) {
  for (const HostProcess& process : processes) {
    const sandbox::UniqueFd pidfd(
        static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
    if (pidfd.valid()) {
      pollfd ended = {pidfd.get(), POLLIN, 0};
      ::poll(&ended, 1, -1);
    }
  }
}

}  // namespace tests
