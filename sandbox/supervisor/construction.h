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

struct Plan {
  WorkspaceMount workspace;
  std::string host_name;
  uint32_t first_id = 0;
  uint64_t tmpfs_bytes = 0;
};

struct Construction {
  // PID 1: killing it kills everything in the sandbox.
  Child init;
  Child spawner;
  // To the spawner; see init/exchange.h. It has said that it is ready.
  UniqueFd spawner_socket;
  UniqueFd exchange;
  // The directory of the sandbox's devpts.
  UniqueFd devpts;
};

// `home` is the group that init and spawner live in. On failure nothing is
// left. InvalidArgument, FailedPrecondition: as Gather() says, and
// FailedPrecondition for what the kernel refuses.
absl::StatusOr<Construction> Construct(const Plan& plan, const Cgroup& home);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CONSTRUCTION_H_
