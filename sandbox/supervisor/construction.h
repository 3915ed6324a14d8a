// Makes a sandbox: namespaces, ids, mounts, init and the spawner, in this
// order. Nothing untrusted runs before all of them exist.
//
// Used by the supervisor's one thread.

#ifndef SANDBOX_SUPERVISOR_CONSTRUCTION_H_
#define SANDBOX_SUPERVISOR_CONSTRUCTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/mounts.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/workspace.h"
#include "sandbox/seccomp/profile_name.h"
#include "sandbox/supervisor/construction_times.h"

namespace sandbox {

struct Construction {
  // See Construct().
  uint32_t first_id = kNoRange;
  // PID 1: killing it kills everything in the sandbox, but with kNoRange the
  // spawner, which is in the pid namespace of this process.
  Child init;
  Child spawner;
  // The supervisor's end of the socket to the spawner, which has reported that
  // it is ready; see init/exchange.h.
  UniqueFd spawner_socket;
  UniqueFd exchange;
  // Belongs to the spawner's filter, see seccomp::LoadProfile(). May be
  // invalid.
  UniqueFd listener;
  // The directory of the sandbox's devpts, and its root's mount.
  UniqueFd devpts;
  UniqueFd root;
  // The steps of Construct(). The time before it counts as kGroups.
  ConstructionTimes times;
};

// `first_id` is that of an IdRange, or kNoRange. `cgroup` becomes the root of
// the sandbox's cgroup namespace; /sys/fs/cgroup shows it inside. Init and the
// spawner live in `home`; see SandboxGroups. Both groups may be invalid: then
// each command may be marked by its limit of core dumps, see marked_group.h.
// The spawner has `profile`. On failure nothing is left. Fails with ISOLATION
// if the kernel refuses namespaces, and with Aborted if a process was killed
// while it was being made.
absl::StatusOr<Construction> Construct(uint32_t first_id, const Cgroup& cgroup,
                                       const Cgroup& home,
                                       seccomp::Profile profile);

// The properties of a sandbox that are known only when it is requested.
struct Particulars {
  // No path of them is equal to, above or below another one.
  std::vector<WorkspaceMount> workspaces;
  // 0: no limit.
  uint64_t memory_bytes = 0;
  // kNested: allows namespaces and removes the covers of /proc.
  seccomp::Profile profile = seccomp::Profile::kDefault;
};

// Forks a child that enters the namespaces of the sandbox, before the first
// command; see ForkInto() and ForkBeside().
absl::StatusOr<Child> ForkIntoSandbox(const Construction& made, int cgroup);

// Starts another spawner, with `profile`, in the place of Construct()'s, before
// the first command; `made.spawner_socket`, `made.exchange` and `made.listener`
// are new. Fails as Construct() does.
absl::Status ReplaceSpawner(const Cgroup& home, seccomp::Profile profile,
                            Construction& made);

// Adds the workspaces and the limit of memory, before the first command.
// Returns the mounts of the workspaces, in their order. Fails as
// LendWorkspace() and Attach() do. May fail with Aborted, or succeed, if init
// was killed.
absl::StatusOr<std::vector<UniqueFd>> Complete(const Construction& made,
                                               const Particulars& particulars);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CONSTRUCTION_H_
