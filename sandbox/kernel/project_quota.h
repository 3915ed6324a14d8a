// Projects of a file system (ext4, xfs, f2fs): each file has the number of one,
// and the kernel bounds what all files of a project take together. A directory
// that hands its project on gives it to all that is made in it; nothing with
// another project can be linked or renamed into it. No process in a user
// namespace other than the host's can change a file's project.
//
// Sources: quotactl(2), ioctl_fsgetxattr in xfsctl(3), Linux fs/ioctl.c
// (fileattr_set_prepare).
//
// Thread-safe.

#ifndef SANDBOX_KERNEL_PROJECT_QUOTA_H_
#define SANDBOX_KERNEL_PROJECT_QUOTA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sandbox {

// The space that the files of a project, or of a directory, may take. In each
// field, 0 means no limit.
struct SpaceLimits {
  uint64_t bytes = 0;
  // Files, directories and links.
  uint64_t inodes = 0;

  bool limited() const { return bytes != 0 || inodes != 0; }
  // True if each limit of `other` is at least as low.
  bool AreKeptBy(const SpaceLimits& other) const;
};

// The project of a directory.
struct Project {
  uint32_t number = 0;
  // False: what is made in the directory gets number 0.
  bool handed_on = false;
};

// In these functions, `directory` is a descriptor that was not opened with
// O_PATH, and whose file system is meant.

// Fails with InvalidArgument or Unimplemented if the file system has no
// projects.
absl::StatusOr<Project> ReadProject(int directory);
// Changes the directory itself, and nothing in it.
absl::Status WriteProject(int directory, const Project& project);

// True if the file system enforces limits of projects.
bool EnforcesProjects(int directory);
// Limits of a project; bytes count in units of 1024.
absl::StatusOr<SpaceLimits> ReadProjectLimits(int directory, uint32_t number);
absl::Status SetProjectLimits(int directory, uint32_t number,
                              const SpaceLimits& limits);
// True if no file has the project, and it has no limits.
absl::StatusOr<bool> IsUnused(int directory, uint32_t number);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_PROJECT_QUOTA_H_
