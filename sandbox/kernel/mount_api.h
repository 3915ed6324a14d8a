// The mount system calls that work on descriptors: open_tree(2), fsopen(2),
// mount_setattr(2) and others. All exist since Linux 5.12; glibc 2.36 declares
// only some.

#ifndef SANDBOX_KERNEL_MOUNT_API_H_
#define SANDBOX_KERNEL_MOUNT_API_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Returns a detached copy of one mount from `path` on, without the mounts below
// it; of `directory` itself if `path` is empty. Fails with NotFound if there is
// no such path.
absl::StatusOr<UniqueFd> CopyTree(int directory, const std::string& path);

// The same, but in a user namespace that is not the host's the mounts below are
// copied too, if there are some: the kernel lets nobody there see what they
// cover.
absl::StatusOr<UniqueFd> CopyTreeAsAllowed(int directory,
                                           const std::string& path);

// Adds `attributes` (MOUNT_ATTR_*) to all mounts of the tree, and makes them
// private. `user_namespace` is that of an idmapped mount, else -1.
absl::Status SetMountAttributes(int tree, uint64_t attributes,
                                int user_namespace);

absl::Status SetReadOnly(int tree, bool read_only);

// Returns a new file system, detached: fsopen, options, fsmount.
absl::StatusOr<UniqueFd> NewFileSystem(
    const char* type,
    const std::vector<std::pair<const char*, std::string>>& options,
    uint64_t attributes);

// Changes options of the file system whose mount is at `path` below
// `directory`.
absl::Status Reconfigure(
    int directory, const char* path,
    const std::vector<std::pair<const char*, std::string>>& options);

// Mounts `tree` on `path`, which is resolved below `directory` without
// following any link; on `directory` itself if `path` is empty.
absl::Status MoveTree(int tree, int directory, const std::string& path);

// Opens `path` (O_PATH) below `directory`, following no link.
absl::StatusOr<UniqueFd> OpenBeneath(int directory, const std::string& path);

// The same, but follows links as a process does whose root is `directory`: an
// absolute target is looked up below it, and nothing leads above it.
absl::StatusOr<UniqueFd> OpenInRoot(int directory, const std::string& path);

// Opens the directory (O_PATH) at an absolute path, following no link on the
// way. Invalid, with errno, on failure; ELOOP: there is a link.
UniqueFd OpenDirectoryWithoutLinks(const std::string& path);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_MOUNT_API_H_
