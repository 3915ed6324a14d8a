// The paths of a workspace that commands cannot change, as the comments in
// proto/corral/v1/sandbox.proto state the rules for them.

#ifndef SERVER_API_READ_ONLY_PATHS_H_
#define SERVER_API_READ_ONLY_PATHS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corral/v1/sandbox.pb.h"

namespace server {

// The paths of Workspace.protect_host_tools.
inline constexpr const char* kHostToolPaths[] = {
    ".envrc",
    // Leads to another directory with configuration and hooks.
    ".git/commondir",
    // Names programs: core.fsmonitor, core.hooksPath, filters, aliases.
    ".git/config",
    ".git/config.worktree",
    ".git/hooks",
    // Repositories of submodules and of linked worktrees, with all of these.
    ".git/modules",
    ".git/worktrees",
    ".idea",
    ".vscode",
    ".zed",
};

// Returns the paths in force, each once, sorted.
std::vector<std::string> ReadOnlyPathsOf(
    const corral::v1::Workspace& workspace);

// Checks the paths of all workspaces of the sandbox that is the field `field`
// of a request. Fails with INVALID_FIELD.
absl::Status CheckReadOnlyPaths(absl::string_view field,
                                const corral::v1::Sandbox& sandbox);

}  // namespace server

#endif  // SERVER_API_READ_ONLY_PATHS_H_
