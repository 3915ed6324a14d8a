// A part of a path in a workspace, and its mount on itself.

#ifndef SANDBOX_KERNEL_PATH_PART_H_
#define SANDBOX_KERNEL_PATH_PART_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

struct PathPart {
  UniqueFd fd;  // O_PATH
  uint32_t mode = 0;
  uint32_t links = 0;
  // The number of the mount that it lies on.
  uint64_t mount = 0;
  // True if it is the root of that mount.
  bool is_mount_point = false;
  bool is_read_only = false;
};

// Opens `name` in `directory`: a link itself, and the uppermost mount.
absl::StatusOr<PathPart> OpenPart(int directory, const std::string& name);

// Fails for what stays writable although it is covered: a link, whose target
// does, and a file with another name. `place` is its path for the error.
absl::Status CheckCoverable(const PathPart& part, const std::string& place);

enum class MountAccess { kReadOnly, kWritable };

// Mounts the part `name` of `directory` on itself, in the mount namespace of
// the caller, and returns the root of the new mount. Fails with Aborted if
// another process has moved the part, and the mount with it.
absl::StatusOr<UniqueFd> MountOnItself(int directory, const std::string& name,
                                       const PathPart& part,
                                       MountAccess access);

// Lets `inotify` report when the part `name` of `directory` is moved, which
// takes its mount along and changes no list of mounts. Changes the working
// directory, since inotify takes no descriptor of a file.
absl::Status WatchMoves(int inotify, int directory, const std::string& name);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_PATH_PART_H_
