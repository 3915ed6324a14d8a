#include "sandbox/kernel/path_part.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/mount_api.h"

namespace sandbox {

namespace {

absl::Status Describe(const std::string& name, PathPart& part) {
  struct statx status;
  struct statvfs system;
  if (::statx(part.fd.get(), "", AT_EMPTY_PATH,
              STATX_BASIC_STATS | STATX_MNT_ID, &status) != 0 ||
      ::fstatvfs(part.fd.get(), &system) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("statx ", name));
  }
  part.mode = status.stx_mode;
  part.links = status.stx_nlink;
  part.mount = status.stx_mnt_id;
  part.is_mount_point = (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  part.is_read_only = (system.f_flag & ST_RDONLY) != 0;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PathPart> OpenPart(int directory, const std::string& name) {
  PathPart part;
  ASSIGN_OR_RETURN(part.fd, OpenBeneath(directory, name));
  RETURN_IF_ERROR(Describe(name, part));
  return part;
}

absl::Status CheckCoverable(const PathPart& part, const std::string& place) {
  if (S_ISLNK(part.mode)) {
    char target[PATH_MAX];
    const ssize_t size =
        ::readlinkat(part.fd.get(), "", target, sizeof(target));
    return absl::FailedPreconditionError(absl::StrCat(
        place, " is a symbolic link (to ",
        absl::string_view(target, size > 0 ? static_cast<size_t>(size) : 0),
        "), and commands could change what it leads to; replace the link, or "
        "leave the path writable"));
  }
  if (S_ISREG(part.mode) && part.links > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        place, " has ", part.links,
        " names (hard links), and commands could change it by another one; "
        "copy the file, or leave the path writable"));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> MountOnItself(int directory, const std::string& name,
                                       const PathPart& part,
                                       MountAccess access) {
  PathPart mounted;
  ASSIGN_OR_RETURN(mounted.fd, CopyTree(part.fd.get(), ""));
  if (access == MountAccess::kReadOnly) {
    RETURN_IF_ERROR(SetReadOnly(mounted.fd.get(), true));
  }
  RETURN_IF_ERROR(MoveTree(mounted.fd.get(), part.fd.get(), ""));
  RETURN_IF_ERROR(Describe(name, mounted));
  ASSIGN_OR_RETURN(PathPart seen, OpenPart(directory, name));
  if (seen.mount != mounted.mount) {
    return absl::AbortedError(absl::StrCat(name, " was moved"));
  }
  return std::move(seen.fd);
}

absl::Status WatchMoves(int inotify, int directory, const std::string& name) {
  if (::fchdir(directory) != 0 ||
      ::inotify_add_watch(inotify, name.c_str(),
                          IN_MOVE_SELF | IN_DONT_FOLLOW) < 0) {
    return absl::ErrnoToStatus(
        errno,
        absl::StrCat("watch ", name,
                     errno == ENOSPC ? " (fs.inotify.max_user_watches)" : ""));
  }
  return absl::OkStatus();
}

}  // namespace sandbox
