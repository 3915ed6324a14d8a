#include "sandbox/kernel/isolation.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sandbox/base/filter_error.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/disk_protection.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/record_space.h"

namespace sandbox {
namespace {

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

// Tries it in a child process, since a process cannot undo unshare(2).
absl::Status TryUnshare(int flags) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(::unshare(flags) == 0 ? 0 : errno);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child ||
      !WIFEXITED(status)) {
    return absl::InternalError("the probe did not run");
  }
  return WEXITSTATUS(status) == 0
             ? absl::OkStatus()
             : absl::ErrnoToStatus(WEXITSTATUS(status), "unshare");
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

IsolationFeature Cgroups(const absl::StatusOr<CgroupHost>& host,
                         const std::string& what) {
  if (!host.ok()) {
    return Feature(what, host.status(), "");
  }
  return Feature(what, absl::OkStatus(),
                 host->version == CgroupVersion::kV2
                     ? absl::StrCat("cgroup v2 below ", host->parents[0])
                     : "cgroup v1");
}

IsolationFeature MemoryLimit(const absl::StatusOr<CgroupHost>& host) {
  IsolationFeature feature = Cgroups(host, "memory limit");
  if (host.ok() && host->version == CgroupVersion::kV1) {
    feature.gap = "buffers of sockets may take a quarter of it more";
  }
  return feature;
}

IsolationFeature KillOfATree(const absl::StatusOr<CgroupHost>& host) {
  IsolationFeature feature = Cgroups(host, "kill of a tree");
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
IsolationFeature LimitsShown(const absl::StatusOr<CgroupHost>& host) {
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

IsolationFeature DiskSpeedLimit(const absl::StatusOr<CgroupHost>& host) {
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
  IsolationFeature feature = Addition(
      "disk limit",
      systems.with_projects.empty()
          ? absl::UnimplementedError(
                "no file system enforces project quotas (ext4 and xfs with the "
                "mount option prjquota)")
          : absl::OkStatus(),
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
  std::vector<IsolationFeature> features;
  features.push_back(
      Feature("root",
              ::geteuid() == 0
                  ? absl::OkStatus()
                  : absl::PermissionDeniedError("corrald does not run as root"),
              "it may map ids that are not its own"));
  const std::pair<const char*, int> namespaces[] = {
      {"user namespace", CLONE_NEWUSER},    {"mount namespace", CLONE_NEWNS},
      {"pid namespace", CLONE_NEWPID},      {"network namespace", CLONE_NEWNET},
      {"ipc namespace", CLONE_NEWIPC},      {"uts namespace", CLONE_NEWUTS},
      {"cgroup namespace", CLONE_NEWCGROUP}};
  for (const auto& [name, flag] : namespaces) {
    features.push_back(Feature(name, TryUnshare(flag), "one for each sandbox"));
  }
  const absl::StatusOr<UniqueFd> tmpfs = NewFileSystem("tmpfs", {}, 0);
  features.push_back(Feature("mounts by descriptor", tmpfs.status(),
                             "fsopen, open_tree, mount_setattr"));
  features.push_back(Feature("seccomp", TryInThread(LoadAFilter),
                             "default-deny profile of system calls"));
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  features.push_back(MemoryLimit(host));
  features.push_back(Cgroups(host, "pids limit"));
  features.push_back(Cgroups(host, "cpu limit"));
  features.push_back(KillOfATree(host));
  features.push_back(
      Addition("landlock", TryInThread(EnterLandlockDomain),
               "signals and abstract sockets stay within the sandbox"));
  features.push_back(LimitsShown(host));
  features.push_back(DiskLimit());
  features.push_back(DiskSpeedLimit(host));
  return features;
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
