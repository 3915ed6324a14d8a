// The namespaces of a sandbox.

#ifndef SANDBOX_KERNEL_NAMESPACES_H_
#define SANDBOX_KERNEL_NAMESPACES_H_

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// How many user and group ids one sandbox has.
constexpr uint32_t kIdRange = 65536;

// In place of the first id of a range: the sandbox has no ids of its own. Its
// only user and group, kCommandId, are those of this process. Init and the
// spawner have them too, so the spawner must be out of the commands' reach; see
// ForkBeside().
constexpr uint32_t kNoRange = 0;

// The namespaces that each process enters that works in a sandbox; see
// setns(2).
constexpr int kAllButPids = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET |
                            CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

struct Child {
  // 0 in the child itself.
  pid_t pid = 0;
  // Invalid in the child.
  UniqueFd pidfd;
};

// Forks a child into new user, mount, pid, network, ipc and uts namespaces, as
// PID 1. Returns in both processes. For a single-threaded process. `cgroup` is
// the directory of the v2 group in which the child is born, or -1. `owner` is
// the host's user who owns the user namespace. The kernel counts inotify
// instances, timers and pending signals of the sandbox for this user, too; if
// it were root, a sandbox could use up what root may have.
absl::StatusOr<Child> CloneIntoNamespaces(int cgroup, uid_t owner);

// Forks a child of the caller into the namespaces of the process behind
// `pidfd`. Returns in both processes; a child that cannot enter them ends.
absl::StatusOr<Child> ForkInto(int pidfd, int cgroup);

// The same, but the child stays in the pid namespace of the caller, where
// nothing inside sees or signals it. Its own children are born inside. Needs no
// privilege in the caller's pid namespace, unlike ForkInto(). The child is a
// first victim of the OOM killer.
absl::StatusOr<Child> ForkBeside(int pidfd, int cgroup);

// Becomes user and group 0 of the sandbox, without supplementary groups. With
// kNoRange there is no such user: does nothing, and the process keeps the
// capabilities that it has in the sandbox's user namespace.
absl::Status BecomeSandboxRoot(uint32_t first_id);

// Makes the kernel remove System V shared memory of an ipc namespace when no
// process uses it any more. Otherwise it would outlive the command that made
// it. For a single-threaded process, before MapIds(): since Linux 6.10 the
// setting then belongs to user 0 inside.
absl::Status RemoveUnusedSharedMemory(int pidfd);

// True if the process was killed or has ended, and was not reaped. It may still
// be exiting: the kernel lets an init end only after all other processes of its
// pid namespace.
bool IsExiting(pid_t pid);
// The same, for a caller that may not see the process any more. `stat` is its
// OpenStat(); if it is invalid, the result is false.
bool IsExiting(const UniqueFd& stat);

// Opens /proc/PID/stat. A host can hide processes of others (hidepid) from
// those without CAP_SYS_PTRACE.
UniqueFd OpenStat(pid_t pid);

// Makes the kernel kill the calling process when its parent ends. Must be
// repeated after a change of user or group ids, which undoes it.
absl::Status DieWithParent();

// Maps ids 0 to kIdRange - 1 of the user namespace of `pid` to first_id and up;
// with kNoRange, kCommandId to the user and group of this process.
absl::Status MapIds(pid_t pid, uint32_t first_id);

// In the child: makes a cgroup namespace with the present cgroup as its root,
// brings the loopback interface up and sets the host name.
absl::Status FinishNamespaces(const std::string& host_name);

// How many namespaces of each kind may be made below the user namespace of the
// calling process: files to be written.
using NamespaceLimits = std::vector<UniqueFd>;

// Call it while the host's /proc is in place.
absl::StatusOr<NamespaceLimits> OpenNamespaceLimits();

// Sets each limit to `count`, once the mounts are made: the kernel counts a
// mount without a place as a namespace. Nothing inside can raise them.
// Namespaces that exist remain and can be joined.
absl::Status LimitNamespaces(const NamespaceLimits& limits, int count);

// Lets each user have `count` mount namespaces below the user namespace of the
// calling process, of which each mount without a place is one. Making one needs
// CAP_SYS_ADMIN there, as before. `sysctls` is the host's /proc/sys, since that
// of a sandbox is read-only.
absl::Status AllowMountNamespaces(int sysctls, int count);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_NAMESPACES_H_
