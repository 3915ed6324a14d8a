// Paths of a workspace that the commands of a sandbox can read, but neither
// change, make, replace, move nor remove.
//
// Each path is covered with a read-only mount of itself. Nobody inside can
// rename or remove a mount point, but whoever renames a directory above it
// takes it along; so the directories on the way are mounted on themselves, too.
// Where nothing exists, a placeholder is made (see placeholder.h): at the first
// part of the path that is missing. A directory .git on the way is none: many
// builds take a directory with one for a repository, and agents make them. Only
// one that was there once is kept.
//
// A mount is lost when a program of the host renames or removes what is below
// it, as editors and git do to replace a file. Cover() then mounts it again.
// The kernel reports a removal in the list of mounts, and inotify a move.

#ifndef SANDBOX_KERNEL_READ_ONLY_PATHS_H_
#define SANDBOX_KERNEL_READ_ONLY_PATHS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/placeholder.h"

namespace sandbox {

class ReadOnlyPaths {
 public:
  // `workspace` is its mount in a sandbox, `name` its path for errors. `paths`
  // are relative, without "." and "..". `user` is the host's id of the
  // commands' user.
  ReadOnlyPaths(UniqueFd workspace, std::string name,
                std::vector<std::string> paths, uint32_t user);

  // Covers the paths that are not covered, and returns how many mounts that
  // took. The caller is root in the mount namespace of the sandbox, with the
  // usual umask, in a working directory that may change. No link is followed,
  // and other processes may change the workspace meanwhile. The inotify
  // descriptor `moves` then reports moves of what is covered; -1: nothing does.
  // Fails with READ_ONLY_PATH.
  absl::StatusOr<int> Cover(int moves = -1);

  // For a caller with the sandbox's mounts, before this object goes there: see
  // Placeholder::Uncover(). Nothing may run in the sandbox any more.
  void Uncover() const;

  // The descriptor of the workspace's mount.
  int workspace() const { return workspace_.get(); }

 private:
  // Covers the part `i` of a path, which is `place` and in `directory`. Returns
  // where the next part is; not valid: nothing below it needs a mount.
  absl::StatusOr<UniqueFd> CoverPart(const std::vector<std::string>& names,
                                     size_t i, const std::string& place,
                                     int directory, int moves, int* mounts);
  // Covers one path, and adds the number of mounts to `mounts`.
  absl::Status CoverPath(const std::string& path, int moves, int* mounts);
  // Fill(), unless nothing is there that may be missing.
  absl::StatusOr<bool> Exists(const std::vector<std::string>& names, size_t i,
                              const std::string& place, int directory);
  // Whether the part `i` of a path may be left out if nothing is at `place`.
  bool MayBeMissing(const std::vector<std::string>& names, size_t i,
                    const std::string& place) const;
  // Whether `name` in `directory`, or the descriptor `directory` itself if
  // `name` is empty, is a placeholder for `place`.
  bool IsPlaceholder(const std::string& place, int directory,
                     const std::string& name) const;
  // Forgets the placeholders for `place` that something has replaced.
  void ForgetReplaced(const std::string& place);
  // Sees that there is something at `place`, whose last part is `name` in
  // `directory`. Returns false if there is nothing, and no command can make
  // anything there.
  absl::StatusOr<bool> Fill(int directory, const std::string& place,
                            const std::string& name, const char* content);

  UniqueFd workspace_;
  std::string name_;
  std::vector<std::string> paths_;
  uint32_t user_;
  // By their places, also those that the host has moved away with the directory
  // above them. Removed with this object.
  std::multimap<std::string, Placeholder> placeholders_;
  // The places of each .git that was there.
  std::set<std::string> repositories_;
};

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_READ_ONLY_PATHS_H_
