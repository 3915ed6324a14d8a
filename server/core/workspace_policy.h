// Decides which directories of the host may be a workspace or a mount.
//
// A sandbox may read and write its workspace as the directory's owner does.
// Without these rules, everybody who may create a sandbox could do on the host
// what the server's user can do.

#ifndef SERVER_CORE_WORKSPACE_POLICY_H_
#define SERVER_CORE_WORKSPACE_POLICY_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace server {

// Thread-safe. Check blocks, since it reads the disk.
class WorkspacePolicy {
 public:
  struct Options {
    // ServerConfig.workspace_roots: a workspace must be one of them or lie
    // below one.
    std::vector<std::string> roots;
    // ServerConfig.mount_roots: mounts may lie there, too.
    struct MountRoot {
      std::string path;
      bool writable = false;
    };
    std::vector<MountRoot> mount_roots;
    // True if clients come over TCP. Without roots, these may name no
    // workspace. Local clients may name what `user` may write, or read if the
    // workspace is read-only; root may name everything but the directories of
    // the system.
    bool has_remote_clients = false;
    // The effective user id of the server, which local clients have too.
    uid_t user = 0;
    // Neither this directory nor a directory above or below it is ever a
    // workspace: it holds the control sockets of the sandboxes.
    std::string state_directory;
    // Neither this directory nor a directory above it is ever a workspace:
    // somebody who can write there can replace the server's socket. Empty:
    // there is no such directory.
    std::string socket_directory;
    // Neither these directories, which may be missing, nor directories above or
    // below them are ever a workspace: what is there obeys the server's user,
    // which commands may be.
    std::vector<std::string> session_directories;
  };

  explicit WorkspacePolicy(Options options) : options_(std::move(options)) {}

  // OK if `path` may be a workspace. INVALID_FIELD for sandbox.workspace.path:
  // it may not, or it is not a directory.
  //
  // A path with a symbolic link is refused, and the supervisor that opens the
  // path later refuses links too. So nobody can have another directory mounted
  // by replacing a directory with a link after the check.
  absl::Status Check(const std::string& path, bool read_only) const;

  // The same for the source of a mount: it may be whatever may be a workspace,
  // and lie below a mount root. The field of the error is that of a workspace.
  absl::Status CheckMount(const std::string& path, bool read_only) const;

 private:
  // Returns true if a mount root allows a mount at `path`.
  bool IsInMountRoot(const std::string& path, bool read_only) const;
  // The roots that a mount may lie below, for people.
  std::string MountPlaces() const;
  absl::Status CheckRoots(const std::string& path) const;
  absl::Status CheckLocal(const std::string& path, bool read_only) const;
  absl::Status CheckOwn(const std::string& path) const;

  const Options options_;
};

}  // namespace server

#endif  // SERVER_CORE_WORKSPACE_POLICY_H_
