// The directories of the host that the description of a sandbox names.

#ifndef SANDBOX_SUPERVISOR_SPEC_MOUNTS_H_
#define SANDBOX_SUPERVISOR_SPEC_MOUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/directory_quota.h"
#include "sandbox/kernel/project_quota.h"
#include "sandbox/kernel/read_only_paths.h"
#include "sandbox/kernel/workspace.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

// Returns workspaces and mounts. `first_id`: the first id of the sandbox.
std::vector<WorkspaceMount> WorkspacesOf(const wire::SandboxSpec& spec,
                                         uint32_t first_id);

// Returns their paths on the host.
std::vector<std::string> DirectoriesOf(const wire::SandboxSpec& spec);

// Returns the read-only paths of those that are not read-only altogether.
// `mounts` has the mount of each. `user`: the host's id of the commands' user.
std::vector<ReadOnlyPaths> PathsOf(
    const std::vector<WorkspaceMount>& workspaces, std::vector<UniqueFd> mounts,
    uint32_t user);

// Limits what each of those that commands can write to may hold. `mounts` has
// the mount of each. Fails with ISOLATION if nothing enforces that.
absl::StatusOr<std::vector<DirectoryQuota>> LimitSpace(
    const std::vector<WorkspaceMount>& workspaces,
    const std::vector<UniqueFd>& mounts, const SpaceLimits& limits);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_SPEC_MOUNTS_H_
