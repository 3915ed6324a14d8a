// The rules for the directories of the host that a request names: the paths of
// workspaces and mounts, as the comments in proto/corral/v1 state them. Nothing
// here looks at the disk; see core/workspace_policy.h for that.

#ifndef SERVER_API_HOST_DIRECTORIES_H_
#define SERVER_API_HOST_DIRECTORIES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corral/v1/mount.pb.h"
#include "corral/v1/sandbox.pb.h"

namespace server {

// Fails with INVALID_FIELD unless `path` is absolute, without ".", ".." and
// "//".
absl::Status CheckPath(absl::string_view field, absl::string_view path);

// Checks workspaces and mounts of the sandbox that is the field `field` of a
// request. Fails with INVALID_FIELD.
absl::Status CheckHostDirectories(absl::string_view field,
                                  const corral::v1::Sandbox& sandbox);

// Returns the path of the mount inside, without slashes at the end.
absl::string_view TargetOf(const corral::v1::Mount& mount);

}  // namespace server

#endif  // SERVER_API_HOST_DIRECTORIES_H_
