// Makes a sandbox: namespaces, ids, mounts, init and the spawner, in this
// order. Nothing untrusted runs before all of them exist.
//
// For the supervisor's one thread.

#ifndef SANDBOX_SUPERVISOR_CONSTRUCTION_H_
#define SANDBOX_SUPERVISOR_CONSTRUCTION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/mounts.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/workspace.h"

namespace sandbox {

struct Construction {
  // PID 1: killing it kills everything in the sandbox.
  Child init;
  Child spawner;
  // To the spawner; see init/exchange.h. It has said that it is ready.
  UniqueFd spawner_socket;
  UniqueFd exchange;
  // The directory of the sandbox's devpts, and its root's mount.
  UniqueFd devpts;
  UniqueFd root;
};

// `cgroup` is the sandbox's group, the root of its cgroup namespace; `home` the
// one that init and spawner live in: with v2 one below, since a group that
// hands controllers on holds no process; with v1 the same. On failure nothing
// is left. ISOLATION: what the kernel refuses. Aborted: somebody
// killed a process that was being made.
absl::StatusOr<Construction> Construct(uint32_t first_id, const Cgroup& cgroup,
                                       const Cgroup& home);

// The properties that distinguish one sandbox from another.
struct Particulars {
  // No path: none.
  WorkspaceMount workspace;
  // 0: no limit.
  uint64_t memory_bytes = 0;
};

// Before the first command. Errors as LendWorkspace() and Attach() say.
// Aborted: somebody killed init.
absl::Status Complete(const Construction& made, const Particulars& particulars);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CONSTRUCTION_H_
