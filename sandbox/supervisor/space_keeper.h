// Keeps the limits of what the directories of a sandbox may hold while it runs;
// see ../kernel/directory_quota.h.
//
// A process beside the supervisor does it, since setting and removing limits
// takes the right to administer the host. It also removes them when the
// supervisor was killed.

#ifndef SANDBOX_SUPERVISOR_SPACE_KEEPER_H_
#define SANDBOX_SUPERVISOR_SPACE_KEEPER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/project_quota.h"
#include "sandbox/kernel/workspace.h"
#include "sandbox/supervisor/side_process.h"

namespace sandbox {

class SpaceKeeper {
 public:
  // Sets the limits, before anything untrusted runs in the sandbox of `init`.
  // `mounts` has the mount of each workspace. Fails as LimitSpace() does (see
  // spec_mounts.h), and with Aborted if the process was killed. For a process
  // with one thread.
  static absl::StatusOr<std::unique_ptr<SpaceKeeper>> Begin(
      const Child& init, const std::vector<WorkspaceMount>& workspaces,
      const std::vector<UniqueFd>& mounts, const SpaceLimits& limits);

  // Removes the limits. Nothing may run in the sandbox any more.
  ~SpaceKeeper();

 private:
  explicit SpaceKeeper(SideProcess process);

  const SideProcess process_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_SPACE_KEEPER_H_
