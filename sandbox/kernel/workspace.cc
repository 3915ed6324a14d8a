#include "sandbox/kernel/workspace.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/init/exchange.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/owner_map.h"

namespace sandbox {
namespace {

// A directory, and what it is for: "workspace" or "mount".
struct Named {
  const char* use;
  const std::string& path;
};

absl::Status Refusal(const Named& named, absl::string_view reason,
                     absl::string_view remedy) {
  return MakeFailure(
      wire::Reply::WORKSPACE,
      absl::StrCat(named.use, " ", named.path, ": ", reason, "; ", remedy));
}

absl::Status CheckPath(const Named& path) {
  if (!absl::StartsWith(path.path, "/")) {
    return Refusal(path, "path is not absolute", "name it from / on");
  }
  for (const absl::string_view part : absl::StrSplit(path.path, '/')) {
    if (part == "." || part == "..") {
      return Refusal(path, absl::StrCat("path contains \"", part, "\""),
                     "name the real path");
    }
  }
  return absl::OkStatus();
}

// Returns the path without needless slashes.
std::string Normal(const std::string& path) {
  const std::vector<std::string> parts =
      absl::StrSplit(path, '/', absl::SkipEmpty());
  return absl::StrCat("/", absl::StrJoin(parts, "/"));
}

absl::Status CheckPlace(const Named& path) {
  const std::string place = Normal(path.path);
  for (const char* own : {"/proc", "/sys", "/dev", "/etc"}) {
    if (place == own || absl::StartsWith(place, absl::StrCat(own, "/"))) {
      return Refusal(path,
                     absl::StrCat("each sandbox has ", own, " of its own"),
                     "choose a directory elsewhere");
    }
  }
  if (place == "/" || place == "/usr") {
    return Refusal(path,
                   absl::StrCat("each sandbox has ", place, " of its own"),
                   "choose a directory below it or elsewhere");
  }
  return absl::OkStatus();
}

absl::Status CheckTarget(const Named& target) {
  RETURN_IF_ERROR(CheckPath(target));
  RETURN_IF_ERROR(CheckPlace(target));
  if (absl::StartsWith(Normal(target.path), "/usr/")) {
    return Refusal(target, "each sandbox has the host's /usr",
                   "choose a place elsewhere");
  }
  return absl::OkStatus();
}

// Finds the first link of `path`, as "/a/link -> target". For people: the path
// may have changed since it was refused.
std::string DescribeLink(const std::string& path) {
  std::string prefix;
  for (const absl::string_view part :
       absl::StrSplit(path, '/', absl::SkipEmpty())) {
    absl::StrAppend(&prefix, "/", part);
    char target[PATH_MAX];
    const ssize_t size = ::readlink(prefix.c_str(), target, sizeof(target));
    if (size >= 0) {
      return absl::StrCat(prefix, " -> ",
                          absl::string_view(target, static_cast<size_t>(size)));
    }
  }
  return path;
}

absl::Status OpenFailure(const Named& path, int error) {
  switch (error) {
    case ELOOP:
      return Refusal(path,
                     absl::StrCat("path contains a symbolic link (",
                                  DescribeLink(path.path), ")"),
                     "name the real path");
    case ENOENT:
      return Refusal(path, "no such directory", "create it first");
    case ENOTDIR:
      return Refusal(path, "not a directory", "name a directory");
    default:
      return Refusal(path, std::strerror(error),
                     "choose a directory that the server can open");
  }
}

// Returns a copy of the directory's mount in which its owner's files belong to
// the commands' user.
absl::StatusOr<UniqueFd> CopyMapped(const Named& named,
                                    const UniqueFd& directory,
                                    uint64_t attributes, uint32_t first_id) {
  struct stat status;
  if (::fstat(directory.get(), &status) != 0) {
    return OpenFailure(named, errno);
  }
  ASSIGN_OR_RETURN(UniqueFd tree, CopyTree(directory.get(), ""));
  ASSIGN_OR_RETURN(const UniqueFd map, OwnerMap(status.st_uid, status.st_gid,
                                                first_id, kCommandId));
  const absl::Status mapped =
      SetMountAttributes(tree.get(), attributes, map.get());
  if (!mapped.ok()) {
    return MakeFailure(
        wire::Reply::ISOLATION,
        absl::StrCat(named.use, " ", named.path,
                     ": its file system has no idmapped mounts (",
                     mapped.message(),
                     "); choose a directory on ext4, XFS, Btrfs or another "
                     "file system that has them"));
  }
  return tree;
}

// The same where the commands' user is that of this process. The kernel allows
// only the host's root to change who owns the files of a mount.
absl::StatusOr<UniqueFd> CopyPlain(const UniqueFd& directory,
                                   uint64_t attributes) {
  ASSIGN_OR_RETURN(UniqueFd tree, CopyTreeAsAllowed(directory.get(), ""));
  RETURN_IF_ERROR(SetMountAttributes(tree.get(), attributes, -1));
  return tree;
}

const char* UseOf(const WorkspaceMount& workspace) {
  return workspace.target.empty() ? "workspace" : "mount";
}

}  // namespace

absl::StatusOr<UniqueFd> OpenHostDirectory(const char* use,
                                           const std::string& path) {
  const Named named = {use, path};
  RETURN_IF_ERROR(CheckPath(named));
  RETURN_IF_ERROR(CheckPlace(named));
  UniqueFd directory = OpenDirectoryWithoutLinks(path);
  if (!directory.valid()) {
    return OpenFailure(named, errno);
  }
  return directory;
}

absl::StatusOr<HostTree> LendWorkspace(const WorkspaceMount& workspace) {
  const bool is_mount = !workspace.target.empty();
  const Named named = {UseOf(workspace), workspace.path};
  if (is_mount) {
    RETURN_IF_ERROR(CheckTarget({"mount at", workspace.target}));
  }
  ASSIGN_OR_RETURN(const UniqueFd directory,
                   OpenHostDirectory(named.use, named.path));
  const uint64_t attributes =
      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
      (workspace.read_only ? uint64_t{MOUNT_ATTR_RDONLY} : uint64_t{0});
  ASSIGN_OR_RETURN(UniqueFd tree, workspace.first_id == kNoRange
                                      ? CopyPlain(directory, attributes)
                                      : CopyMapped(named, directory, attributes,
                                                   workspace.first_id));
  return HostTree{std::move(tree), is_mount ? workspace.target : workspace.path,
                  true};
}

bool IsStillLent(const WorkspaceMount& workspace, int mount) {
  const UniqueFd directory = OpenDirectoryWithoutLinks(workspace.path);
  struct stat now;
  struct stat lent;
  struct statfs now_mounted;
  struct statfs lent_mounted;
  if (!directory.valid() || ::fstat(directory.get(), &now) != 0 ||
      ::fstat(mount, &lent) != 0 ||
      ::fstatfs(directory.get(), &now_mounted) != 0 ||
      ::fstatfs(mount, &lent_mounted) != 0) {
    return false;
  }
  // The owner's files belong to the commands' user only as long as the mount
  // maps that owner.
  const uint32_t user = workspace.first_id + kCommandId;
  const bool same_owner =
      workspace.first_id == kNoRange
          ? now.st_uid == lent.st_uid && now.st_gid == lent.st_gid
          : lent.st_uid == user && lent.st_gid == user;
  constexpr auto kFlags = ST_RDONLY | ST_NOEXEC;
  const auto flags_now =
      (now_mounted.f_flags & kFlags) | (workspace.read_only ? ST_RDONLY : 0);
  return now.st_dev == lent.st_dev && now.st_ino == lent.st_ino && same_owner &&
         flags_now == (lent_mounted.f_flags & kFlags);
}

}  // namespace sandbox
