// A directory of the host as the workspace of a sandbox, or as a mount.
//
// The path is resolved without following any link: whoever may write to a
// directory above the workspace could otherwise lead the mount elsewhere. All
// failures of the path are of kind WORKSPACE (see failure.h); their texts name
// the path, the reason and the remedy.

#ifndef SANDBOX_KERNEL_WORKSPACE_H_
#define SANDBOX_KERNEL_WORKSPACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/mounts.h"

namespace sandbox {

struct WorkspaceMount {
  std::string path;
  bool read_only = false;
  // The first id of the sandbox, or kNoRange.
  uint32_t first_id = 0;
  // The path inside; empty: the same path, as for the workspace.
  std::string target = {};
  // See read_only_paths.h.
  std::vector<std::string> read_only_paths = {};
};

// Opens the directory (O_PATH). The path must be absolute, without ".." and
// links, and not where a sandbox has directories of its own: /proc, /sys, /dev
// and /etc, and what is below them; / and /usr. Symbolic links made later
// cannot redirect the descriptor. `use` is "workspace" or "mount", and begins
// the text of an error.
absl::StatusOr<UniqueFd> OpenHostDirectory(const char* use,
                                           const std::string& path);

// Makes a detached mount of the workspace in which its files belong to the
// sandbox's user. With kNoRange they belong to whom they belong on the host,
// and this process's user may do what it may do there. The target is held
// against the same rules as the path, and must not be below /usr either. Fails
// with ISOLATION if its file system has no idmapped mounts.
absl::StatusOr<HostTree> LendWorkspace(const WorkspaceMount& workspace);

// Returns true if LendWorkspace() would lend now what it has lent as `mount`:
// the same directory, with the same owner, and as writable and executable.
bool IsStillLent(const WorkspaceMount& workspace, int mount);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_WORKSPACE_H_
