// The namespaces of a sandbox.

#ifndef SANDBOX_KERNEL_NAMESPACES_H_
#define SANDBOX_KERNEL_NAMESPACES_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Ids of one sandbox.
constexpr uint32_t kIdRange = 65536;

struct Child {
  // 0 in the child itself.
  pid_t pid = 0;
  // Invalid in the child.
  UniqueFd pidfd;
};

// Forks a child into new user, mount, pid, network, ipc and uts namespaces; it
// is the pid namespace's PID 1. Returns in both. For a single-threaded process.
// cgroup: the directory of a v2 group to be born in, or -1.
absl::StatusOr<Child> CloneIntoNamespaces(int cgroup);

// Forks a child of the caller into the namespaces of the process behind
// `pidfd`. Returns in both; a child that cannot enter them ends.
absl::StatusOr<Child> ForkInto(int pidfd, int cgroup);

// It was killed or has ended, and was not reaped; it may still be on its way,
// as the kernel takes init down only after all that its pid namespace holds.
bool IsExiting(pid_t pid);

// Has the kernel kill the calling process when its parent ends. A change of
// user or group ids undoes it.
absl::Status DieWithParent();

// Maps ids 0 to kIdRange - 1 of the user namespace of `pid` to first_id and up.
absl::Status MapIds(pid_t pid, uint32_t first_id);

// A user namespace that, on an idmapped mount, shows files of user `owner` and
// group `group` as those of the ids first_id + inside, and what these create as
// the owner's.
absl::StatusOr<UniqueFd> OwnerMap(uid_t owner, gid_t group, uint32_t first_id,
                                  uint32_t inside);

// In the child: a cgroup namespace rooted at its present cgroup, the loopback
// interface up, the host name.
absl::Status FinishNamespaces(const std::string& host_name);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_NAMESPACES_H_
