// The file system of a sandbox.
//
// Two steps, in two processes: Gather() in the supervisor, with the host's
// rights, makes detached copies of what the host lends (open_tree), each
// read-only or idmapped before anything can see it; Build() in the sandbox's
// own namespaces makes the rest and moves the copies in. Mounts are made on
// descriptors; no path is resolved in a tree that something inside could have
// changed, since nothing runs inside yet.
//
// The file tree that a command sees:
//
//   /usr            the host's, read-only; also what /bin, /lib, ... lead to
//   /etc            made up; from the host, read-only: alternatives,
//                   certificates, the linker's cache and the like
//   /tmp, /var/tmp  private tmpfs, like /dev/shm and /home/corral; these four
//                   share one limit
//   /run            empty, read-only
//   /dev            null, zero, full, random, urandom, tty, a devpts of its own
//   /proc           its own: other users' processes are invisible, kernel
//                   settings read-only, files that show the host masked
//   /sys            only fs/cgroup, with the sandbox's own control groups,
//                   read-only: see cgroup_view.h
//   the workspace   at its own path, over what is there otherwise

#ifndef SANDBOX_KERNEL_MOUNTS_H_
#define SANDBOX_KERNEL_MOUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// A detached mount and its path in the sandbox.
struct HostTree {
  UniqueFd tree;
  std::string target;  // absolute
  bool directory = true;
};

struct HostTrees {
  std::vector<HostTree> trees;
  // Links below the root, like "bin" -> "usr/bin".
  std::vector<std::pair<std::string, std::string>> links;
};

struct SandboxTree {
  // The directory of the sandbox's devpts, for OpenPty.
  UniqueFd devpts;
  // The root's mount.
  UniqueFd root;
};

// Lends what every sandbox has of the host.
absl::StatusOr<HostTrees> Gather();

// Returns a new /proc, detached: that of the caller's pid namespace. Fails with
// ISOLATION, and the remedy, where a container's engine has covered parts of
// the /proc that the caller sees.
absl::StatusOr<UniqueFd> NewProc();

// Makes the file system. In the child, with all capabilities in its user
// namespace, where kCommandId must exist.
absl::StatusOr<SandboxTree> Build(const HostTrees& host);

// Limits what /tmp, /var/tmp, /dev/shm and /home/corral hold together, for a
// sandbox with this much memory. In the same place as Attach().
absl::Status LimitScratch(int root, uint64_t memory_bytes);

// Replaces files of /etc that every sandbox has. In the same place as Attach().
struct EtcFile {
  const char* path;  // like "etc/resolv.conf"
  std::string text;
};
absl::Status ReplaceEtc(int root, const std::vector<EtcFile>& files);

// Removes the mounts that cover /proc, those that make its settings read-only
// included. While they exist, a command cannot mount a /proc in namespaces of
// its own: the kernel allows that only where a /proc is visible in whole. Runs
// where Attach() runs.
absl::Status UncoverProc(int root);

// Mounts the workspace at its path below the root. In a process that entered
// the sandbox's namespaces, as root of its user namespace, and before anything
// untrusted runs there. Fails with WORKSPACE if the path cannot be made.
absl::Status Attach(int root, const HostTree& tree);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_MOUNTS_H_
