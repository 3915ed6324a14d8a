// The processes of a control group: how they enter and leave it, and how they
// are found, signalled and killed.

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"

namespace sandbox {
namespace {

// True for a hierarchy of v1 that has the controller cpu or cpuacct.
bool CountsCpuTime(const std::string& directory) {
  return ::access((directory + "/cpu.shares").c_str(), F_OK) == 0 ||
         ::access((directory + "/cpuacct.usage").c_str(), F_OK) == 0;
}

// Moves the calling process to a group; if that is gone, to the nearest one
// above it.
absl::Status MoveUpFrom(std::string directory) {
  absl::Status moved = WriteSmallFile(directory + "/cgroup.procs", "0");
  const absl::Status first = moved;
  while (!moved.ok() && directory.find('/') != std::string::npos) {
    directory.resize(directory.rfind('/'));
    moved = WriteSmallFile(directory + "/cgroup.procs", "0");
  }
  return moved.ok() ? moved : first;
}

}  // namespace

std::vector<int> Cgroup::EntryFds() const {
  std::vector<int> fds;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (i != spared_) {
      fds.push_back(entries_[i].get());
    }
  }
  return fds;
}

absl::Status Cgroup::Enter() const {
  if (version_ == CgroupVersion::kV2) {
    return absl::OkStatus();
  }
  const std::vector<std::string> directories = Directories();
  for (size_t i = 0; i < directories.size(); ++i) {
    // `tasks` and not `cgroup.procs`: see JoinCgroup in init/spawner.cc.
    if (::write(entries_[i].get(), "0", 1) != 1) {
      return absl::ErrnoToStatus(errno, absl::StrCat("enter ", directories[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status Cgroup::Take(pid_t pid) const {
  return version_ == CgroupVersion::kV2
             ? WriteSmallFile(directories_[0] + "/cgroup.procs",
                              absl::StrCat(pid))
             : absl::OkStatus();
}

absl::Status Cgroup::TakeForCpuTime(pid_t pid) const {
  if (version_ == CgroupVersion::kV2) {
    return Take(pid);
  }
  const std::string number = absl::StrCat(pid);
  const auto size = static_cast<ssize_t>(number.size());
  for (size_t i = 0; i < directories_.size(); ++i) {
    if (CountsCpuTime(directories_[i]) &&
        ::write(entries_[i].get(), number.data(), number.size()) != size) {
      return absl::ErrnoToStatus(errno,
                                 absl::StrCat("enter ", directories_[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status Cgroup::LeaveFor(const CgroupHost& host) const {
  if (version_ == CgroupVersion::kV2) {
    return MoveUpFrom(host.own);
  }
  for (size_t i = 0; i < directories_.size(); ++i) {
    if (CountsCpuTime(directories_[i])) {
      RETURN_IF_ERROR(MoveUpFrom(host.parents[i]));
    }
  }
  return absl::OkStatus();
}

std::vector<pid_t> Cgroup::Pids() const {
  std::vector<pid_t> pids;
  if (directories_.empty()) {
    return pids;
  }
  const absl::StatusOr<std::string> text =
      ReadSmallFile(directories_[0] + "/cgroup.procs");
  if (!text.ok()) {
    return pids;
  }
  for (absl::string_view line :
       absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    pid_t pid;
    if (absl::SimpleAtoi(line, &pid)) {
      pids.push_back(pid);
    }
  }
  return pids;
}

void Cgroup::SignalOnce(int signal, pid_t process_group) const {
  std::vector<std::pair<pid_t, UniqueFd>> targets;
  for (const pid_t pid : Pids()) {
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (pidfd.valid()) {
      targets.emplace_back(pid, std::move(pidfd));
    }
  }
  // A pid may have been reused between reading and opening. If it is still
  // listed, the descriptor stands for the process that was read.
  const std::vector<pid_t> still = Pids();
  for (const auto& [pid, pidfd] : targets) {
    if (std::find(still.begin(), still.end(), pid) != still.end() &&
        (process_group == 0 || ::getpgid(pid) == process_group)) {
      ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
    }
  }
}

void Cgroup::Signal(int signal) const { SignalOnce(signal, 0); }

absl::Status Cgroup::SetMaxProcesses(absl::string_view number) const {
  closed_ = number == "0";
  for (const std::string& directory : directories_) {
    const std::string path = directory + "/pids.max";
    if (::access(path.c_str(), F_OK) == 0) {
      RETURN_IF_ERROR(WriteSmallFile(path, number));
    }
  }
  return absl::OkStatus();
}

bool Cgroup::Kill() const {
  if (Pids().empty()) {
    return true;
  }
  if (version_ == CgroupVersion::kV2 &&
      WriteSmallFile(directories_[0] + "/cgroup.kill", "1").ok()) {
    return Pids().empty();
  }
  (void)SetMaxProcesses("0");
  SignalOnce(SIGKILL, 0);
  return Pids().empty();
}

void Cgroup::SignalProcessGroup(int signal, pid_t process_group) const {
  SignalOnce(signal, process_group);
}

}  // namespace sandbox
