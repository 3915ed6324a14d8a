#include "sandbox/kernel/mounts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/tree_content.h"

namespace sandbox {
namespace {

constexpr uint64_t kLent =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

absl::Status Lend(const std::string& path, uint64_t attributes,
                  HostTrees& host) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("stat ", path));
  }
  ASSIGN_OR_RETURN(UniqueFd tree, CopyTreeAsAllowed(AT_FDCWD, path));
  RETURN_IF_ERROR(SetMountAttributes(tree.get(), attributes, -1));
  host.trees.push_back({std::move(tree), path, S_ISDIR(status.st_mode)});
  return absl::OkStatus();
}

// True if `name` was made in `directory`, as a directory or as a file.
bool MakeEntry(int directory, const std::string& name, bool is_directory) {
  return (is_directory
              ? ::mkdirat(directory, name.c_str(), 0755)
              : ::mknodat(directory, name.c_str(), S_IFREG | 0444, 0)) == 0;
}

// Makes the missing parts of `path` below `root`; the last part becomes a
// directory if `directory`, else a file. Returns the last part (O_PATH).
// Follows links of the tree, but never out of it. Only this file has made links
// there so far.
absl::StatusOr<UniqueFd> MakePath(int root, const std::string& path,
                                  bool directory) {
  ASSIGN_OR_RETURN(UniqueFd at, OpenInRoot(root, "."));
  std::string prefix;
  const std::vector<std::string> parts =
      absl::StrSplit(path, '/', absl::SkipEmpty());
  for (size_t i = 0; i < parts.size(); ++i) {
    absl::StrAppend(&prefix, prefix.empty() ? "" : "/", parts[i]);
    absl::StatusOr<UniqueFd> next = OpenInRoot(root, prefix);
    if (absl::IsNotFound(next.status())) {
      if (!MakeEntry(at.get(), parts[i], directory || i + 1 < parts.size())) {
        return absl::ErrnoToStatus(errno, absl::StrCat("make ", prefix));
      }
      next = OpenInRoot(root, prefix);
    }
    RETURN_IF_ERROR(next.status());
    at = *std::move(next);
  }
  return at;
}

absl::Status MountLent(int root, const std::vector<HostTree>& trees) {
  // Many in turn are in the same directory.
  std::string parent;
  UniqueFd at;
  for (const HostTree& tree : trees) {
    const size_t slash = tree.target.rfind('/');
    const std::string name = tree.target.substr(slash + 1);
    if (!at.valid() || tree.target.substr(0, slash) != parent) {
      parent = tree.target.substr(0, slash);
      ASSIGN_OR_RETURN(at, MakePath(root, parent, true));
    }
    if (!MakeEntry(at.get(), name, tree.directory) && errno != EEXIST) {
      return absl::ErrnoToStatus(errno, absl::StrCat("make ", tree.target));
    }
    RETURN_IF_ERROR(MoveTree(tree.tree.get(), at.get(), name));
  }
  return absl::OkStatus();
}

absl::Status WriteText(int root, const TextFile& file) {
  UniqueFd fd(
      ::openat(root, file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  const absl::string_view text = file.text;
  if (!fd.valid() || ::write(fd.get(), text.data(), text.size()) !=
                         static_cast<ssize_t>(text.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("write ", file.path));
  }
  return absl::OkStatus();
}

absl::Status Link(int root, const std::string& target,
                  const std::string& path) {
  if (::symlinkat(target.c_str(), root, path.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("symlink ", path));
  }
  return absl::OkStatus();
}

absl::Status MakeSkeleton(int root, const HostTrees& host) {
  for (const char* directory :
       {"usr", "etc", "etc/chromium.d", "dev", "dev/pts", "dev/shm", "proc",
        "sys", "sys/fs", "sys/fs/cgroup", "tmp", "home", "home/corral", "run",
        "var", "var/tmp"}) {
    if (::mkdirat(root, directory, 0755) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("mkdir ", directory));
    }
  }
  for (const TextFile& file : kMadeUpEtc) {
    RETURN_IF_ERROR(WriteText(root, file));
  }
  for (const auto& [path, target] : host.links) {
    RETURN_IF_ERROR(Link(root, target, path));
  }
  const std::pair<const char*, const char*> links[] = {
      {"dev/ptmx", "pts/ptmx"},
      {"dev/fd", "/proc/self/fd"},
      {"dev/stdin", "/proc/self/fd/0"},
      {"dev/stdout", "/proc/self/fd/1"},
      {"dev/stderr", "/proc/self/fd/2"},
      {"etc/mtab", "/proc/mounts"},
      {"var/run", "/run"}};
  for (const auto& [path, target] : links) {
    RETURN_IF_ERROR(Link(root, target, path));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> MakeScratch(int tmpfs, const Scratch& scratch) {
  // A sandbox with one user has no user 0, and this process is that user.
  const uid_t owner = scratch.owner == 0 ? ::geteuid() : scratch.owner;
  if (::mkdirat(tmpfs, scratch.name, scratch.mode) != 0 ||
      ::fchownat(tmpfs, scratch.name, owner, owner, 0) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("mkdir ", scratch.path));
  }
  return CopyTree(tmpfs, scratch.name);
}

// Mounts one file system for all of kScratch, so that they share one limit.
absl::Status MountScratch(int root) {
  ASSIGN_OR_RETURN(const UniqueFd tmpfs,
                   NewFileSystem("tmpfs", {{"mode", "755"}},
                                 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  // Only mounted trees can be copied. It goes with the old root: each time that
  // something is unmounted, the kernel waits for all processors.
  RETURN_IF_ERROR(MoveTree(tmpfs.get(), AT_FDCWD, "dev"));
  std::vector<UniqueFd> parts;
  for (const Scratch& scratch : kScratch) {
    ASSIGN_OR_RETURN(UniqueFd part, MakeScratch(tmpfs.get(), scratch));
    parts.push_back(std::move(part));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    RETURN_IF_ERROR(MoveTree(parts[i].get(), root, kScratch[i].path));
  }
  return absl::OkStatus();
}

enum class Access { kAsCover, kReadOnly };

absl::Status CoverWith(int root, const char* cover, const char* path,
                       Access access) {
  const absl::StatusOr<UniqueFd> place = OpenBeneath(root, path);
  if (absl::IsNotFound(place.status())) {
    return absl::OkStatus();  // this kernel does not have it
  }
  RETURN_IF_ERROR(place.status());
  ASSIGN_OR_RETURN(const UniqueFd copy, CopyTree(root, cover));
  if (access == Access::kReadOnly) {
    RETURN_IF_ERROR(SetMountAttributes(copy.get(), MOUNT_ATTR_RDONLY, -1));
  }
  return MoveTree(copy.get(), place->get(), "");
}

// Covers a file of /proc with a text.
absl::Status CoverWithText(int root, const TextFile& cover) {
  // A mount keeps the file when its name is gone.
  constexpr char kDraft[] = "draft";
  RETURN_IF_ERROR(WriteText(root, {kDraft, cover.text}));
  RETURN_IF_ERROR(CoverWith(root, kDraft, cover.path, Access::kReadOnly));
  if (::unlinkat(root, kDraft, 0) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("unlink ", kDraft));
  }
  return absl::OkStatus();
}

// A made-up boot id, in the format of the kernel.
absl::StatusOr<std::string> NewBootId(int root) {
  constexpr char kUuid[] = "proc/sys/kernel/random/uuid";
  const UniqueFd file(::openat(root, kUuid, O_RDONLY | O_CLOEXEC));
  char id[64];
  const ssize_t size =
      file.valid() ? ::read(file.get(), id, sizeof(id)) : ssize_t{-1};
  if (size < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("read ", kUuid));
  }
  return std::string(id, static_cast<size_t>(size));
}

absl::Status MountProc(int root) {
  ASSIGN_OR_RETURN(const UniqueFd proc, NewProc());
  RETURN_IF_ERROR(MoveTree(proc.get(), root, "proc"));
  for (const char* path : kReadOnlyProc) {
    RETURN_IF_ERROR(CoverWith(root, path, path, Access::kReadOnly));
  }
  for (const char* path : kMaskedProcFiles) {
    RETURN_IF_ERROR(CoverWith(root, "dev/null", path, Access::kAsCover));
  }
  for (const char* path : kMaskedProcDirectories) {
    RETURN_IF_ERROR(CoverWith(root, "run", path, Access::kReadOnly));
  }
  RETURN_IF_ERROR(CoverWithText(root, kMadeUpLoad));
  ASSIGN_OR_RETURN(const std::string boot_id, NewBootId(root));
  return CoverWithText(root, {kBootId, boot_id.c_str()});
}

absl::Status Pivot(int root) {
  // After pivot_root(".", ".") the old root lies on the new one until it is
  // unmounted; see pivot_root(2).
  if (::fchdir(root) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
      ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) {
    return absl::ErrnoToStatus(errno, "pivot_root");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HostTrees> Gather() {
  HostTrees host;
  RETURN_IF_ERROR(Lend("/usr", kLent, host));
  for (const char* name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"}) {
    const std::string path = absl::StrCat("/", name);
    char target[256];
    const ssize_t size = ::readlink(path.c_str(), target, sizeof(target));
    if (size > 0) {
      host.links.emplace_back(name,
                              std::string(target, static_cast<size_t>(size)));
    } else if (errno == EINVAL) {
      RETURN_IF_ERROR(Lend(path, kLent, host));
    }
  }
  for (const char* path : kLentEtc) {
    const absl::Status lent = Lend(path, kLent, host);
    if (!lent.ok() && !absl::IsNotFound(lent)) {
      return lent;
    }
  }
  for (const char* path : kDevices) {
    RETURN_IF_ERROR(Lend(path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, host));
  }
  return host;
}

absl::StatusOr<UniqueFd> NewProc() {
  absl::StatusOr<UniqueFd> proc =
      NewFileSystem("proc", {{"hidepid", "invisible"}},
                    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
  if (absl::IsPermissionDenied(proc.status())) {
    return MakeFailure(
        wire::Reply::ISOLATION,
        absl::StrCat("a /proc of its own: ", proc.status().message(),
                     "; the kernel refuses it where parts of the present /proc "
                     "are covered, as in containers; start the container with "
                     "an uncovered one (docker: --security-opt "
                     "systempaths=unconfined, podman: --security-opt "
                     "unmask=ALL, Kubernetes: procMount: Unmasked)"));
  }
  return proc;
}

absl::StatusOr<SandboxTree> Build(const HostTrees& host) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::chdir("/") != 0) {
    return absl::ErrnoToStatus(errno, "make the mounts private");
  }
  ::umask(0);
  ASSIGN_OR_RETURN(UniqueFd root,
                   NewFileSystem("tmpfs", {{"size", "1m"}, {"mode", "755"}},
                                 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  // A mount point must be part of the namespace. So the new root is mounted
  // somewhere, here on /usr, until it becomes the root.
  RETURN_IF_ERROR(MoveTree(root.get(), AT_FDCWD, "usr"));
  RETURN_IF_ERROR(MakeSkeleton(root.get(), host));
  RETURN_IF_ERROR(MountScratch(root.get()));
  RETURN_IF_ERROR(MountLent(root.get(), host.trees));
  ASSIGN_OR_RETURN(
      UniqueFd devpts,
      NewFileSystem(
          "devpts",
          {{"max", kTerminals}, {"ptmxmode", "0666"}, {"mode", "0600"}},
          MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  RETURN_IF_ERROR(MoveTree(devpts.get(), root.get(), "dev/pts"));
  RETURN_IF_ERROR(MountProc(root.get()));
  RETURN_IF_ERROR(SetReadOnly(root.get(), true));
  RETURN_IF_ERROR(Pivot(root.get()));
  ::umask(022);
  return SandboxTree{std::move(devpts), std::move(root)};
}

absl::Status LimitScratch(int root, uint64_t memory_bytes) {
  // Files in a tmpfs count as memory, but killing processes does not free them:
  // the rest of the memory must be left for commands. An empty file takes a
  // quarter of a page.
  const uint64_t size = memory_bytes / 8 * 5;
  return Reconfigure(
      root, kScratch[0].path,
      {{"size", absl::StrCat(size)}, {"nr_inodes", absl::StrCat(size / 4096)}});
}

absl::Status ReplaceEtc(int root, const std::vector<EtcFile>& files) {
  RETURN_IF_ERROR(SetReadOnly(root, false));
  for (const EtcFile& file : files) {
    const UniqueFd fd(
        ::openat(root, file.path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid() || ::write(fd.get(), file.text.data(), file.text.size()) !=
                           static_cast<ssize_t>(file.text.size())) {
      return absl::ErrnoToStatus(errno, absl::StrCat("write ", file.path));
    }
  }
  return SetReadOnly(root, true);
}

absl::Status UncoverProc(int root) {
  if (::fchdir(root) != 0) {
    return absl::ErrnoToStatus(errno, "enter the root");
  }
  const auto uncover = [](const char* path) {
    // EINVAL, ENOENT: nothing covers it, or this kernel does not have it.
    return ::umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0 ||
                   errno == EINVAL || errno == ENOENT
               ? absl::OkStatus()
               : absl::ErrnoToStatus(errno, absl::StrCat("umount ", path));
  };
  RETURN_IF_ERROR(uncover(kMadeUpLoad.path));
  // With it go the covers of the settings.
  for (const char* path : kReadOnlyProc) {
    RETURN_IF_ERROR(uncover(path));
  }
  for (const char* path : kMaskedProcFiles) {
    RETURN_IF_ERROR(uncover(path));
  }
  for (const char* path : kMaskedProcDirectories) {
    RETURN_IF_ERROR(uncover(path));
  }
  return absl::OkStatus();
}

absl::Status Attach(int root, const HostTree& tree) {
  ::umask(022);
  RETURN_IF_ERROR(SetReadOnly(root, false));
  const absl::StatusOr<UniqueFd> place =
      MakePath(root, tree.target, tree.directory);
  if (!place.ok()) {
    return MakeFailure(wire::Reply::WORKSPACE,
                       absl::StrCat("workspace ", tree.target,
                                    ": a sandbox has no place for it (",
                                    place.status().message(),
                                    "); choose a directory elsewhere"));
  }
  RETURN_IF_ERROR(MoveTree(tree.tree.get(), place->get(), ""));
  return SetReadOnly(root, true);
}

}  // namespace sandbox
