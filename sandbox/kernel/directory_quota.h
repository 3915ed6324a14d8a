// Bounds what a directory of the host, with all that is in it, may take on its
// disk, for a sandbox whose commands can write there.
//
// A directory becomes a project of its file system: see project_quota.h. Only
// an empty one does, since what exists would have to be put into the project
// file by file, and stays there: the mark of a project is no more than one
// attribute of one directory. It stays, too: then the files in the directory
// remain countable for the next sandbox.
//
// Nothing is done if the host bounds the directory itself: by the size of its
// file system, or because an operator has made it a project with limits.
//
// Not thread-safe.

#ifndef SANDBOX_KERNEL_DIRECTORY_QUOTA_H_
#define SANDBOX_KERNEL_DIRECTORY_QUOTA_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/project_quota.h"

namespace sandbox {

class DirectoryQuota {
 public:
  // Corral limits projects with these numbers, and no others.
  static constexpr uint32_t kFirstProject = uint32_t{1} << 30;
  static constexpr uint32_t kProjects = uint32_t{1} << 30;

  // Sets the limits of the directory. They replace those that another sandbox
  // has set. `directory` may be a descriptor opened with O_PATH; `name` names
  // it in errors: "workspace /path". Fails with ISOLATION (see failure.h) if
  // nothing enforces the limits.
  static absl::StatusOr<DirectoryQuota> Impose(int directory,
                                               const std::string& name,
                                               const SpaceLimits& limits);

  DirectoryQuota(DirectoryQuota&&) noexcept = default;
  DirectoryQuota& operator=(DirectoryQuota&&) = delete;
  // Removes the limits, unless another sandbox has the same project.
  ~DirectoryQuota();

 private:
  DirectoryQuota() = default;

  // The rest of Impose(), for a file system that enforces projects.
  absl::Status ImposeOnProject(const std::string& name,
                               const SpaceLimits& limits);
  // Accepts a project of the host whose limits are as low.
  absl::Status TrustHost(const std::string& name, uint32_t number,
                         const SpaceLimits& limits);
  // Makes the directory a project, if it is empty.
  absl::StatusOr<uint32_t> MakeProject(const std::string& name,
                                       const Project& before);

  // Invalid if there is nothing to remove.
  UniqueFd directory_;
  uint32_t project_ = 0;
  // A file with a lock for each project; this object shares that of `project_`.
  UniqueFd locks_;
  // The lock of whoever changes projects or limits of this file system. Another
  // one has another lock, so that a disk that hangs holds up nobody else.
  uint32_t change_ = 0;
};

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_DIRECTORY_QUOTA_H_
