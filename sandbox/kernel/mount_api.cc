#include "sandbox/kernel/mount_api.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

absl::Status SetOptions(
    int context, const char* what,
    const std::vector<std::pair<const char*, std::string>>& options) {
  for (const auto& [key, value] : options) {
    if (::syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key,
                  value.c_str(), 0) != 0) {
      return absl::ErrnoToStatus(
          errno, absl::StrCat("fsconfig(", what, ", ", key, "=", value, ")"));
    }
  }
  return absl::OkStatus();
}

UniqueFd Open(int directory, const std::string& path, uint64_t flags,
              uint64_t resolve) {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC | flags;
  how.resolve = resolve | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how))));
}

absl::StatusOr<UniqueFd> Copy(int directory, const std::string& path,
                              unsigned flags) {
  flags |=
      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (path.empty() ? AT_EMPTY_PATH : 0);
  UniqueFd tree(static_cast<int>(
      ::syscall(SYS_open_tree, directory, path.c_str(), flags)));
  if (!tree.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open_tree(", path, ")"));
  }
  return tree;
}

}  // namespace

absl::StatusOr<UniqueFd> CopyTree(int directory, const std::string& path) {
  return Copy(directory, path, 0);
}

absl::StatusOr<UniqueFd> CopyTreeAsAllowed(int directory,
                                           const std::string& path) {
  absl::StatusOr<UniqueFd> tree = CopyTree(directory, path);
  return absl::IsInvalidArgument(tree.status())
             ? Copy(directory, path, AT_RECURSIVE)
             : std::move(tree);
}

absl::Status SetMountAttributes(int tree, uint64_t attributes,
                                int user_namespace) {
  mount_attr attr = {};
  attr.attr_set = attributes;
  // A copy of a shared mount, as / is under systemd, is its peer: each would
  // get what is mounted below the other.
  attr.propagation = MS_PRIVATE;
  if (user_namespace >= 0) {
    attr.attr_set |= MOUNT_ATTR_IDMAP;
    attr.userns_fd = static_cast<uint64_t>(user_namespace);
  }
  if (::syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE,
                &attr, sizeof(attr)) != 0) {
    return absl::ErrnoToStatus(errno, "mount_setattr");
  }
  return absl::OkStatus();
}

absl::Status SetReadOnly(int tree, bool read_only) {
  mount_attr attr = {};
  (read_only ? attr.attr_set : attr.attr_clr) = MOUNT_ATTR_RDONLY;
  if (::syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr,
                sizeof(attr)) != 0) {
    return absl::ErrnoToStatus(errno, "mount_setattr(read-only)");
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> NewFileSystem(
    const char* type,
    const std::vector<std::pair<const char*, std::string>>& options,
    uint64_t attributes) {
  UniqueFd context(
      static_cast<int>(::syscall(SYS_fsopen, type, FSOPEN_CLOEXEC)));
  if (!context.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("fsopen(", type, ")"));
  }
  RETURN_IF_ERROR(SetOptions(context.get(), type, options));
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr,
                nullptr, 0) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("create ", type));
  }
  UniqueFd tree(static_cast<int>(
      ::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, attributes)));
  if (!tree.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("fsmount(", type, ")"));
  }
  return tree;
}

absl::Status Reconfigure(
    int directory, const char* path,
    const std::vector<std::pair<const char*, std::string>>& options) {
  UniqueFd context(static_cast<int>(::syscall(
      SYS_fspick, directory, path, FSPICK_CLOEXEC | FSPICK_SYMLINK_NOFOLLOW)));
  if (!context.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("fspick(", path, ")"));
  }
  RETURN_IF_ERROR(SetOptions(context.get(), path, options));
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr,
                nullptr, 0) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("reconfigure ", path));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenBeneath(int directory, const std::string& path) {
  UniqueFd fd =
      Open(directory, path, O_NOFOLLOW, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
  if (!fd.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  }
  return fd;
}

absl::StatusOr<UniqueFd> OpenInRoot(int directory, const std::string& path) {
  UniqueFd fd = Open(directory, path, 0, RESOLVE_IN_ROOT);
  if (!fd.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  }
  return fd;
}

UniqueFd OpenDirectoryWithoutLinks(const std::string& path) {
  return Open(AT_FDCWD, path, O_DIRECTORY, RESOLVE_NO_SYMLINKS);
}

absl::Status MoveTree(int tree, int directory, const std::string& path) {
  // The call itself follows no link that is the last part of a path.
  const bool is_name =
      !path.empty() && path != ".." && path.find('/') == std::string::npos;
  UniqueFd below;
  if (!path.empty() && !is_name) {
    ASSIGN_OR_RETURN(below, OpenBeneath(directory, path));
  }
  const int target = below.valid() ? below.get() : directory;
  const unsigned flags =
      MOVE_MOUNT_F_EMPTY_PATH | (is_name ? 0 : MOVE_MOUNT_T_EMPTY_PATH);
  if (::syscall(SYS_move_mount, tree, "", target, is_name ? path.c_str() : "",
                flags) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("move_mount(", path, ")"));
  }
  return absl::OkStatus();
}

}  // namespace sandbox
