#include "sandbox/kernel/isolation.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>
#include <set>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/filter_error.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/disk_protection.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/mounts.h"
#include "sandbox/kernel/record_space.h"
#include "sandbox/kernel/user_namespace.h"

namespace sandbox {
namespace {

// The longest text of a failure: what a pipe takes whole.
constexpr size_t kMaxText = 4096;

IsolationFeature Feature(std::string name, const absl::Status& status,
                         std::string how) {
  return {std::move(name), status.ok(), /*required=*/true,
          status.ok() ? std::move(how) : std::string(status.message()),
          /*gap=*/""};
}

// A protection that stands behind others, so that a sandbox can do without.
IsolationFeature Addition(std::string name, const absl::Status& status,
                          std::string how) {
  IsolationFeature feature = Feature(std::move(name), status, std::move(how));
  feature.required = false;
  return feature;
}

// Tries it in a child process, since a process cannot undo it. The failure has
// the text of the attempt's.
absl::Status TryInChild(const std::function<absl::Status()>& attempt) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "pipe2");
  }
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const absl::Status status = attempt();
    // At most 4096 bytes, or the rest is lost: then nothing waits for a reader.
    const absl::string_view text = status.message().substr(0, kMaxText);
    const ssize_t sent = ::write(writer.get(), text.data(), text.size());
    ::_exit(status.ok() && sent == 0 ? 0 : 1);
  }
  writer.Reset();
  char text[kMaxText];
  const ssize_t size = ::read(reader.get(), text, sizeof(text));
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child ||
      !WIFEXITED(status)) {
    return absl::InternalError("the probe did not run");
  }
  return WEXITSTATUS(status) == 0
             ? absl::OkStatus()
             : absl::UnknownError(absl::string_view(
                   text, size > 0 ? static_cast<size_t>(size) : 0));
}

// In a child: gets the rights that a supervisor has.
absl::Status GetRights() {
  return MayMount() ? absl::OkStatus() : EnterOwnUserNamespace();
}

absl::Status TryUnshare(int flags) {
  return TryInChild([flags]() -> absl::Status {
    RETURN_IF_ERROR(GetRights());
    return ::unshare(flags) == 0 ? absl::OkStatus()
                                 : absl::ErrnoToStatus(errno, "unshare");
  });
}

absl::Status TryMounts() {
  return TryInChild([]() -> absl::Status {
    RETURN_IF_ERROR(GetRights());
    return NewFileSystem("tmpfs", {}, 0).status();
  });
}

// In namespaces like those of a sandbox, since what the kernel allows depends
// on them.
absl::Status TryProc() {
  return TryInChild([]() -> absl::Status {
    RETURN_IF_ERROR(GetRights());
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0) {
      return absl::ErrnoToStatus(errno, "unshare");
    }
    // The new pid namespace is that of its children.
    return TryInChild([] { return NewProc().status(); });
  });
}

absl::Status TryToDropGroups() {
  return TryInChild([]() -> absl::Status {
    RETURN_IF_ERROR(GetRights());
    DropGroups();
    gid_t groups[64];
    const int count = ::getgroups(std::size(groups), groups);
    std::set<gid_t> others(groups, groups + std::max(count, 0));
    others.erase(::getegid());
    return count >= 0 && others.empty()
               ? absl::OkStatus()
               : absl::PermissionDeniedError(
                     "commands keep those of corrald's user, which only users "
                     "with ids in /etc/subuid and /etc/subgid can give up, "
                     "where newuidmap(1) is installed");
  });
}

// Tries it in a thread without a way to more privileges, which keeps its filter
// or its domain until its end.
absl::Status TryInThread(absl::Status (*attempt)()) {
  absl::Status status;
  std::thread thread([&status, attempt] {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    status = attempt();
  });
  thread.join();
  return status;
}

// Loads a filter that allows everything.
absl::Status LoadAFilter() {
  sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog filter = {1, &allow};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0
             ? absl::OkStatus()
             : FilterError(errno, "seccomp");
}

// Whose ids commands have.
IsolationFeature UserIds() {
  const char* const kName = "user ids";
  if (!CommandsAreThisUser()) {
    return Feature(kName, absl::OkStatus(),
                   "65536 of its own for each sandbox");
  }
  IsolationFeature feature =
      Feature(kName, CheckIsNotHostRoot(), "that of corrald's user");
  if (feature.enforced) {
    feature.gap =
        "namespaces and mounts alone keep sandboxes from each other and from "
        "what belongs to the user, and they share what the kernel counts for "
        "it, like inotify instances";
  }
  return feature;
}

IsolationFeature IpcNamespace() {
  IsolationFeature feature = Feature("ipc namespace", TryUnshare(CLONE_NEWIPC),
                                     "one for each sandbox");
  if (feature.enforced && CommandsAreThisUser()) {
    feature.gap = "shared memory of System V outlives the command that made it";
  }
  return feature;
}

// The control groups of this host, or why there are none.
using Groups = absl::StatusOr<CgroupHost>;

IsolationFeature Cgroups(const Groups& host, const std::string& what) {
  if (!host.ok()) {
    IsolationFeature feature = Feature(what, host.status(), "");
    feature.required = !CommandsAreThisUser();
    return feature;
  }
  return Feature(what, absl::OkStatus(),
                 host->version == CgroupVersion::kV2
                     ? absl::StrCat("cgroup v2 below ", host->parents[0])
                     : "cgroup v1");
}

// A limit without groups, where something else stands in for it.
IsolationFeature StandIn(const Groups& host, const std::string& what,
                         std::string how, absl::string_view gap) {
  return {what, /*enforced=*/true, /*required=*/false, std::move(how),
          absl::StrCat(gap, "; no control groups: ", host.status().message())};
}

bool HasStandIn(const Groups& host) {
  return !host.ok() && CommandsAreThisUser();
}

IsolationFeature MemoryLimit(const Groups& host) {
  constexpr char kName[] = "memory limit";
  if (HasStandIn(host)) {
    return StandIn(host, kName, "RLIMIT_DATA",
                   "for each process alone, and not for shared memory");
  }
  IsolationFeature feature = Cgroups(host, kName);
  if (host.ok() && host->version == CgroupVersion::kV1) {
    feature.gap = "buffers of sockets may take a quarter of it more";
  }
  return feature;
}

IsolationFeature PidsLimit(const Groups& host) {
  constexpr char kName[] = "pids limit";
  return HasStandIn(host)
             ? StandIn(host, kName, "RLIMIT_NPROC of the user namespace",
                       "the processes also count for corrald's user")
             : Cgroups(host, kName);
}

// Without groups, the processes of a command are found by a mark.
absl::Status TryMarks() {
  rlimit core = {};
  ::getrlimit(RLIMIT_CORE, &core);
  return core.rlim_max == RLIM_INFINITY
             ? absl::OkStatus()
             : absl::FailedPreconditionError(
                   "the hard limit of core dumps is not \"unlimited\" (ulimit "
                   "-Hc, systemd: LimitCORE=infinity)");
}

IsolationFeature KillOfATree(const Groups& host) {
  constexpr char kName[] = "kill of a tree";
  if (HasStandIn(host)) {
    const absl::Status marks = TryMarks();
    return marks.ok() ? StandIn(host, kName, "marks that processes inherit",
                                "a loop over the processes of the host")
                      : Feature(kName, marks, "");
  }
  IsolationFeature feature = Cgroups(host, kName);
  if (host.ok() && host->version == CgroupVersion::kV1) {
    feature.gap = "a loop over the processes, while new ones are forbidden";
  }
  return feature;
}

// The controllers of v1 without which a JVM ignores the limits of its group.
std::vector<std::string> MissingForJvm(const CgroupHost& host) {
  std::vector<std::string> missing;
  if (host.cpuset.empty()) {
    missing.emplace_back("cpuset");
  }
  if (std::none_of(host.parents.begin(), host.parents.end(),
                   [](const std::string& parent) {
                     const std::string file = parent + "/cpuacct.usage";
                     return ::access(file.c_str(), F_OK) == 0;
                   })) {
    missing.emplace_back("cpuacct");
  }
  return missing;
}

// Not a protection: what programs choose their sizes by. See cgroup_view.h.
IsolationFeature LimitsShown(const Groups& host) {
  IsolationFeature feature =
      Addition("limits shown inside", host.status(),
               "its own control groups, read-only, at /sys/fs/cgroup");
  if (host.ok() && host->version == CgroupVersion::kV1) {
    const std::vector<std::string> missing = MissingForJvm(*host);
    if (!missing.empty()) {
      feature.gap = absl::StrCat(
          "a JVM sees those of the host, since it needs the controllers ",
          absl::StrJoin(missing, " and "), ", mounted and writable");
    }
  }
  return feature;
}

IsolationFeature DiskSpeedLimit(const Groups& host) {
  const bool v1 = host.ok() && host->version == CgroupVersion::kV1;
  IsolationFeature feature = Addition(
      "disk speed limit", host.ok() ? TryDiskSpeed(*host) : host.status(),
      absl::StrCat(v1 ? "blkio.throttle of cgroup v1" : "io.max of cgroup v2",
                   ", for sandboxes that ask for it"));
  if (feature.enforced && v1) {
    feature.gap = "what the kernel writes later, from its cache, is not slowed";
  }
  return feature;
}

IsolationFeature DiskLimit() {
  const DiskFileSystems systems = FindDiskFileSystems();
  absl::Status status;
  if (CommandsAreThisUser()) {
    status = absl::PermissionDeniedError(
        "only root of the host sets project quotas; the size of its file "
        "system limits a workspace, too");
  } else if (systems.with_projects.empty()) {
    status = absl::UnimplementedError(
        "no file system enforces project quotas (ext4 and xfs with the mount "
        "option prjquota)");
  }
  IsolationFeature feature =
      Addition("disk limit", status,
               absl::StrCat("project quotas on ",
                            absl::StrJoin(systems.with_projects, ", "),
                            ", for sandboxes that ask for a limit"));
  if (feature.enforced && !systems.others.empty()) {
    feature.gap = absl::StrCat("not on ", absl::StrJoin(systems.others, ", "));
  }
  return feature;
}

}  // namespace

std::vector<IsolationFeature> ProbeIsolation() {
  const Groups host = CgroupHost::Find();
  const auto one = [](const char* name, int flag) {
    return Feature(name, TryUnshare(flag), "one for each sandbox");
  };
  return {
      UserIds(),
      one("user namespace", CLONE_NEWUSER),
      one("mount namespace", CLONE_NEWNS),
      one("pid namespace", CLONE_NEWPID),
      one("network namespace", CLONE_NEWNET),
      IpcNamespace(),
      one("uts namespace", CLONE_NEWUTS),
      one("cgroup namespace", CLONE_NEWCGROUP),
      Feature("mounts by descriptor", TryMounts(),
              "fsopen, open_tree, mount_setattr"),
      Feature("proc", TryProc(), "one for each sandbox, with its processes"),
      Feature("seccomp", TryInThread(LoadAFilter),
              "default-deny profile of system calls"),
      MemoryLimit(host),
      PidsLimit(host),
      Cgroups(host, "cpu limit"),
      KillOfATree(host),
      Addition("supplementary groups", TryToDropGroups(), "commands have none"),
      Addition("landlock", TryInThread(EnterLandlockDomain),
               "signals and abstract sockets stay within the sandbox"),
      LimitsShown(host),
      DiskLimit(),
      DiskSpeedLimit(host),
  };
}

IsolationFeature ProbeRecordSpace(const std::string& state_directory) {
  IsolationFeature feature = {"room for records", /*enforced=*/true,
                              /*required=*/false, /*detail=*/"", /*gap=*/""};
  switch (FindRecordSpace(state_directory)) {
    case RecordSpace::kOwnFileSystem:
      feature.detail =
          absl::StrCat(state_directory, " is a file system of its own");
      break;
    case RecordSpace::kReservedBlocks:
      feature.detail = absl::StrCat("the file system of ", state_directory,
                                    " keeps blocks for root");
      feature.gap = "commands can use up its inodes in a workspace";
      break;
    case RecordSpace::kShared:
      feature.enforced = false;
      feature.detail =
          absl::StrCat("commands that fill a workspace on the file system of ",
                       state_directory,
                       " stop those of all; make it a file system of its own");
      break;
  }
  return feature;
}

}  // namespace sandbox
