#include "server/core/workspace_policy.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/paths.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "server/api/errors.h"

namespace server {
namespace {

using ::sandbox::UniqueFd;

// Root may lend neither these directories nor anything below them.
constexpr const char* kSystemTrees[] = {
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32",
    "/lost+found", "/proc", "/sbin", "/snap", "/sys", "/usr",
    // The data of services, such as the package manager's.
    "/var/backups", "/var/cache", "/var/lib", "/var/log", "/var/mail",
    "/var/snap", "/var/spool",
    // Directories in which services and sessions have their sockets.
    "/run/NetworkManager", "/run/avahi-daemon", "/run/containerd",
    "/run/containers", "/run/corral", "/run/crio", "/run/credentials",
    "/run/cups", "/run/dbus", "/run/docker", "/run/libvirt", "/run/lock",
    "/run/lvm", "/run/mysqld", "/run/podman", "/run/postgresql", "/run/samba",
    "/run/screen", "/run/secrets", "/run/sshd", "/run/sudo", "/run/systemd",
    "/run/udev", "/run/user"};
// Exceptions below kSystemTrees: people build software there.
constexpr const char* kSourceTrees[] = {"/usr/src", "/usr/local/src"};
// Root may lend directories below these, but not the directories themselves.
constexpr const char* kSystemDirectories[] = {"/", "/home", "/run", "/var"};

absl::Status Refuse(const std::string& path, absl::string_view allowed) {
  return InvalidField("sandbox.workspace.path", path, allowed);
}

UniqueFd OpenWithoutLinks(const std::string& path) {
  open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how))));
}

// The first symbolic link in `path`. For people: the path may have changed.
std::string FirstLink(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string prefix = path.substr(0, end);
    struct stat status = {};
    if (end == std::string::npos ||
        (::lstat(prefix.c_str(), &status) == 0 && S_ISLNK(status.st_mode))) {
      return prefix;
    }
  }
}

// `directory` with its links followed; `directory` itself if it is missing.
std::string RealPath(const std::string& directory) {
  const std::unique_ptr<char, decltype(&std::free)> real(
      ::realpath(directory.c_str(), nullptr), &std::free);
  return real == nullptr ? directory : std::string(real.get());
}

// A root that is a link: its real path is allowed, and the path by the link is
// refused later, with the link's name.
bool IsInRoot(const std::string& path, const std::string& root) {
  return sandbox::IsWithin(path, RealPath(root)) ||
         sandbox::IsWithin(path, root);
}

bool IsInOne(const std::string& path, const std::vector<std::string>& roots) {
  return std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
    return IsInRoot(path, root);
  });
}

template <size_t kCount>
bool IsWithinOne(const std::string& path, const char* const (&trees)[kCount]) {
  return std::any_of(std::begin(trees), std::end(trees), [&](const char* tree) {
    return sandbox::IsWithin(path, tree);
  });
}

bool IsOfTheSystem(const std::string& path) {
  if (IsWithinOne(path, kSourceTrees)) {
    return false;
  }
  return IsWithinOne(path, kSystemTrees) ||
         std::find(std::begin(kSystemDirectories), std::end(kSystemDirectories),
                   path) != std::end(kSystemDirectories);
}

// A directory that a client names, looked up once.
class Named {
 public:
  explicit Named(const std::string& path)
      : path_(path), known_(::stat(path.c_str(), &status_) == 0) {}

  // True if it is `directory`, also where a bind mount gives it a second path,
  // or if that is not known.
  bool Is(const std::string& directory) const {
    struct stat other = {};
    return !known_ || ::stat(directory.c_str(), &other) != 0 ||
           (status_.st_dev == other.st_dev && status_.st_ino == other.st_ino);
  }
  bool IsAtOrAbove(std::string directory) const {
    while (directory.size() > 1) {
      if (Is(directory)) {
        return true;
      }
      directory.resize(std::max<size_t>(directory.rfind('/'), 1));
    }
    return Is("/");
  }
  // `directory` may be missing.
  bool IsAtAboveOrBelow(const std::string& directory) const {
    return sandbox::IsWithin(path_, directory) ||
           sandbox::IsWithin(directory, path_) ||
           (::access(directory.c_str(), F_OK) == 0 && IsAtOrAbove(directory));
  }

 private:
  const std::string path_;
  struct stat status_ = {};
  const bool known_;
};

// True if this looks like the state directory of a corrald, or like the
// directory of its socket.
bool BelongsToAServer(const std::string& directory) {
  struct stat status = {};
  const auto is = [&](const char* name, mode_t type) {
    return ::lstat(absl::StrCat(directory, "/", name).c_str(), &status) == 0 &&
           (status.st_mode & S_IFMT) == type;
  };
  return is("corrald.sock", S_IFSOCK) ||
         (is("lock", S_IFREG) && is("sandboxes", S_IFDIR) &&
          (status.st_mode & ACCESSPERMS) == S_IRWXU);
}

absl::Status CheckOpens(const std::string& path) {
  const UniqueFd directory = OpenWithoutLinks(path);
  const int error = errno;
  if (!directory.valid() && error == ELOOP) {
    return Refuse(
        path, absl::StrCat("a path without symbolic links (", FirstLink(path),
                           " is one); name the real path"));
  }
  if (!directory.valid()) {
    return Refuse(
        path, absl::StrCat("a directory that the server can open (",
                           absl::ErrnoToStatus(error, path).message(), ")"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WorkspacePolicy::Check(const std::string& path,
                                    bool read_only) const {
  if (options_.roots.empty() && options_.has_remote_clients) {
    return Refuse(path,
                  "no workspace, since the server's configuration names no "
                  "workspace_roots");
  }
  if (!options_.roots.empty()) {
    // Checked before the path is opened, since the error of open(2) would show
    // what is on the host.
    RETURN_IF_ERROR(CheckRoots(path));
  }
  RETURN_IF_ERROR(CheckOpens(path));
  if (options_.roots.empty()) {
    RETURN_IF_ERROR(CheckLocal(path, read_only));
  }
  return CheckOwn(path);
}

absl::Status WorkspacePolicy::CheckMount(const std::string& path,
                                         bool read_only) const {
  if (IsInMountRoot(path, read_only)) {
    RETURN_IF_ERROR(CheckOpens(path));
    return CheckOwn(path);
  }
  const bool only_roots_count =
      !options_.roots.empty() || options_.has_remote_clients;
  if (only_roots_count && !IsInOne(path, options_.roots)) {
    return Refuse(path, MountPlaces());
  }
  return Check(path, read_only);
}

bool WorkspacePolicy::IsInMountRoot(const std::string& path,
                                    bool read_only) const {
  return std::any_of(options_.mount_roots.begin(), options_.mount_roots.end(),
                     [&](const Options::MountRoot& root) {
                       return (read_only || root.writable) &&
                              IsInRoot(path, root.path);
                     });
}

std::string WorkspacePolicy::MountPlaces() const {
  std::vector<std::string> places = options_.roots;
  for (const Options::MountRoot& root : options_.mount_roots) {
    places.push_back(
        absl::StrCat(root.path, root.writable ? "" : " (read-only)"));
  }
  return places.empty()
             ? "no mount, since the server's configuration names neither "
               "workspace_roots nor mount_roots"
             : absl::StrCat(
                   "a directory at or below the server's "
                   "workspace_roots and mount_roots: ",
                   absl::StrJoin(places, ", "));
}

absl::Status WorkspacePolicy::CheckRoots(const std::string& path) const {
  if (IsInOne(path, options_.roots)) {
    return absl::OkStatus();
  }
  return Refuse(path, absl::StrCat("a directory at or below the server's "
                                   "workspace_roots: ",
                                   absl::StrJoin(options_.roots, ", ")));
}

absl::Status WorkspacePolicy::CheckLocal(const std::string& path,
                                         bool read_only) const {
  if (options_.user == 0 && IsOfTheSystem(path)) {
    return Refuse(path,
                  "a directory that is not of the system, or that the server's "
                  "workspace_roots name");
  }
  const int access = (read_only ? R_OK : W_OK) | X_OK;
  if (::faccessat(AT_FDCWD, path.c_str(), access, AT_EACCESS) != 0) {
    return Refuse(path, absl::StrCat("a directory that user ", options_.user,
                                     read_only ? " may read" : " may write"));
  }
  return absl::OkStatus();
}

absl::Status WorkspacePolicy::CheckOwn(const std::string& path) const {
  const Named named(path);
  const std::string state = RealPath(options_.state_directory);
  if (sandbox::IsWithin(path, state) || named.IsAtOrAbove(state)) {
    return Refuse(path, absl::StrCat("a directory that is not at, above or "
                                     "below the server's state_dir, ",
                                     options_.state_directory));
  }
  const std::string& socket = options_.socket_directory;
  if (named.IsAtOrAbove(RealPath(socket))) {
    return Refuse(path, absl::StrCat("a directory that is not at or above that "
                                     "of the server's socket, ",
                                     socket));
  }
  for (const std::string& session : options_.session_directories) {
    if (named.IsAtAboveOrBelow(RealPath(session))) {
      return Refuse(path, absl::StrCat("a directory that is not at, above or "
                                       "below ",
                                       session,
                                       ", where services of the server's user "
                                       "have their sockets or records"));
    }
  }
  for (std::string each = path; each.size() > 1;
       each.resize(std::max<size_t>(each.rfind('/'), 1))) {
    if (BelongsToAServer(each)) {
      return Refuse(path, absl::StrCat("a directory that is not at or below ",
                                       each, ", which belongs to a corrald"));
    }
  }
  return absl::OkStatus();
}

}  // namespace server
