#include "sandbox/kernel/namespaces.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/log.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/init/exchange.h"
#include "sandbox/kernel/privileges.h"

namespace sandbox {
namespace {

constexpr uid_t kUnchanged = static_cast<uid_t>(-1);
// PF_EXITING of the kernel's <linux/sched.h>, in the flags of /proc/PID/stat.
constexpr uint64_t kExiting = 0x4;

// Bypasses glibc's fork(), whose bookkeeping a single-threaded program does not
// need.
absl::StatusOr<Child> Clone(uint64_t flags, int cgroup) {
  int pidfd = -1;
  clone_args arguments = {};
  arguments.flags = flags | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  if (cgroup >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<uint64_t>(cgroup);
  }
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
  if (pid < 0) {
    return absl::ErrnoToStatus(
        errno, errno == ENOSPC ? "clone3: a limit in /proc/sys/user/ is reached"
                               : "clone3");
  }
  Child child;
  child.pid = static_cast<pid_t>(pid);
  if (pid > 0) {
    child.pidfd.Reset(pidfd);
  }
  return child;
}

// Moves a child into namespaces of the process behind `pidfd`. It ends if it
// cannot: returning would run the caller's code a second time.
void EnterOrExit(int pidfd, int namespaces) {
  if (::setns(pidfd, namespaces) != 0) {
    LOG(ERROR) << "cannot enter the sandbox's namespaces: errno " << errno;
    ::_exit(1);
  }
}

absl::Status BringUpLoopback() {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
  request.ifr_flags = IFF_UP;
  if (!socket.valid() || ::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) {
    return absl::ErrnoToStatus(errno, "bring up lo");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DieWithParent() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    return absl::ErrnoToStatus(errno, "prctl(PDEATHSIG)");
  }
  return absl::OkStatus();
}

absl::StatusOr<Child> CloneIntoNamespaces(int cgroup, uid_t owner) {
  const uid_t user = ::geteuid();
  const int bits = ::prctl(PR_GET_SECUREBITS);
  // Keeps root's capabilities while the effective user id is not 0.
  const bool can =
      ::prctl(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP) == 0;
  if (!can || ::setresuid(kUnchanged, owner, kUnchanged) != 0) {
    LOG(WARNING) << "errno " << errno << ": the sandbox shares the limits of "
                 << "user " << user << " in /proc/sys/fs/inotify/";
  }
  absl::StatusOr<Child> child =
      Clone(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                CLONE_NEWIPC | CLONE_NEWUTS,
            cgroup);
  // The child has the credentials of its new user namespace.
  const bool parent = !child.ok() || child->pid != 0;
  if (can && parent &&
      (::setresuid(kUnchanged, user, kUnchanged) != 0 ||
       ::prctl(PR_SET_SECUREBITS, bits) != 0)) {
    LOG(ERROR) << "cannot become user " << user << " again: errno " << errno;
    ::_exit(1);
  }
  return child;
}

absl::StatusOr<Child> ForkInto(int pidfd, int cgroup) {
  const UniqueFd own(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
  // For pid namespaces, setns(2) moves future children, not the caller.
  if (::setns(pidfd, CLONE_NEWPID) != 0) {
    return absl::ErrnoToStatus(errno, "setns(pid)");
  }
  ASSIGN_OR_RETURN(Child child, Clone(0, cgroup));
  if (child.pid != 0) {
    // Undo it: a process with children in another pid namespace cannot start
    // threads.
    if (::setns(own.get(), CLONE_NEWPID) != 0) {
      return absl::ErrnoToStatus(errno, "setns(own pid)");
    }
  } else {
    EnterOrExit(pidfd, kAllButPids);
  }
  return child;
}

absl::StatusOr<Child> ForkBeside(int pidfd, int cgroup) {
  ASSIGN_OR_RETURN(Child child, Clone(0, cgroup));
  if (child.pid == 0) {
    // Inside, its own file in /proc is not there, or belongs to nobody.
    BecomeFirstOomVictim().IgnoreError();
    // For pid namespaces, setns(2) moves future children, not the caller.
    EnterOrExit(pidfd, kAllButPids | CLONE_NEWPID);
  }
  return child;
}

absl::Status BecomeSandboxRoot(uint32_t first_id) {
  return first_id == kNoRange ? absl::OkStatus() : BecomeNamespaceRoot();
}

absl::Status RemoveUnusedSharedMemory(int pidfd) {
  const UniqueFd own(::open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC));
  if (!own.valid() || ::setns(pidfd, CLONE_NEWIPC) != 0) {
    return absl::ErrnoToStatus(errno, "setns(ipc)");
  }
  const absl::Status written =
      WriteSmallFile("/proc/sys/kernel/shm_rmid_forced", "1");
  if (::setns(own.get(), CLONE_NEWIPC) != 0) {
    return absl::ErrnoToStatus(errno, "setns(own ipc)");
  }
  return absl::IsNotFound(written) ? absl::OkStatus() : written;
}

UniqueFd OpenStat(pid_t pid) {
  return UniqueFd(::open(absl::StrCat("/proc/", pid, "/stat").c_str(),
                         O_RDONLY | O_CLOEXEC));
}

bool IsExiting(pid_t pid) { return IsExiting(OpenStat(pid)); }

bool IsExiting(const UniqueFd& stat) {
  // More than the kernel writes: fifty numbers and a short name.
  char text[4096];
  const ssize_t got = ::pread(stat.get(), text, sizeof(text), 0);
  if (got <= 0) {
    return false;
  }
  const absl::string_view line(text, static_cast<size_t>(got));
  // The fields after "pid (name) ": state, ppid, pgrp, session, tty_nr, tpgid,
  // flags.
  constexpr size_t kFlags = 6;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(line.substr(line.rfind(')') + 2), ' ');
  uint64_t flags = 0;
  return fields.size() > kFlags && absl::SimpleAtoi(fields[kFlags], &flags) &&
         (flags & kExiting) != 0;
}

absl::Status MapIds(pid_t pid, uint32_t first_id) {
  const auto map = [pid, first_id](const char* file, uint32_t own) {
    return WriteSmallFile(absl::StrCat("/proc/", pid, file),
                          first_id == kNoRange
                              ? absl::StrCat(kCommandId, " ", own, " 1")
                              : absl::StrCat("0 ", first_id, " ", kIdRange));
  };
  RETURN_IF_ERROR(map("/uid_map", ::geteuid()));
  return map("/gid_map", ::getegid());
}

absl::Status FinishNamespaces(const std::string& host_name) {
  if (::unshare(CLONE_NEWCGROUP) != 0) {
    return absl::ErrnoToStatus(errno, "unshare(cgroup)");
  }
  if (::sethostname(host_name.data(), host_name.size()) != 0) {
    return absl::ErrnoToStatus(errno, "sethostname");
  }
  return BringUpLoopback();
}

absl::StatusOr<NamespaceLimits> OpenNamespaceLimits() {
  NamespaceLimits limits;
  for (const char* kind :
       {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"}) {
    const std::string path =
        absl::StrCat("/proc/sys/user/max_", kind, "_namespaces");
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.valid()) {
      limits.push_back(std::move(file));
    } else if (errno != ENOENT) {  // this kernel has no such namespaces
      return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
    }
  }
  return limits;
}

absl::Status LimitNamespaces(const NamespaceLimits& limits, int count) {
  const std::string text = absl::StrCat(count);
  for (const UniqueFd& limit : limits) {
    if (::write(limit.get(), text.data(), text.size()) < 0) {
      return absl::ErrnoToStatus(errno, "write a limit of namespaces");
    }
  }
  return absl::OkStatus();
}

absl::Status AllowMountNamespaces(int sysctls, int count) {
  constexpr char kLimit[] = "user/max_mnt_namespaces";
  NamespaceLimits limits;
  limits.emplace_back(::openat(sysctls, kLimit, O_WRONLY | O_CLOEXEC));
  if (!limits.front().valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open /proc/sys/", kLimit));
  }
  return LimitNamespaces(limits, count);
}

}  // namespace sandbox
