// How a sandbox comes to be: namespaces, ids, mounts, init and spawner, in this
// order, each step in a state in which nothing untrusted runs yet.
//
// For the supervisor's one thread.

#ifndef SANDBOX_SUPERVISOR_CONSTRUCTION_H_
#define SANDBOX_SUPERVISOR_CONSTRUCTION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/cgroup.h"
#include "sandbox/mounts.h"
#include "sandbox/namespaces.h"

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

// `home` is the group that init and spawner live in. On failure nothing is
// left. FailedPrecondition: what the kernel refuses.
absl::StatusOr<Construction> Construct(uint32_t first_id, const Cgroup& home);

// Mounts the workspace. Before the first command. Errors as LendWorkspace() and
// Attach() say.
absl::Status AddWorkspace(const Construction& made,
                          const WorkspaceMount& workspace);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CONSTRUCTION_H_
