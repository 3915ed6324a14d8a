#include "sandbox/kernel/project_quota.h"

#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

constexpr uint64_t kUnit = QIF_DQBLKSIZE;

// quotactl_fd(2), which glibc 2.36 lacks. It needs no name of a device, which a
// path could redirect.
int Quotactl(int directory, unsigned command, uint32_t number, void* data) {
  return static_cast<int>(::syscall(SYS_quotactl_fd, directory,
                                    QCMD(command, PRJQUOTA), number, data));
}

absl::StatusOr<if_dqblk> Read(int directory, uint32_t number) {
  if_dqblk quota = {};
  // Xfs has no record of a project that was never used.
  if (Quotactl(directory, Q_GETQUOTA, number, &quota) != 0 && errno != ENOENT &&
      errno != ESRCH) {
    return absl::ErrnoToStatus(errno, absl::StrCat("quota of ", number));
  }
  return quota;
}

bool IsKept(uint64_t limit, uint64_t other) {
  return limit == 0 || (other != 0 && other <= limit);
}

}  // namespace

bool SpaceLimits::AreKeptBy(const SpaceLimits& other) const {
  return IsKept(bytes, other.bytes) && IsKept(inodes, other.inodes);
}

absl::StatusOr<Project> ReadProject(int directory) {
  fsxattr attributes = {};
  if (::ioctl(directory, FS_IOC_FSGETXATTR, &attributes) != 0) {
    return absl::ErrnoToStatus(errno, "read the project");
  }
  return Project{attributes.fsx_projid,
                 (attributes.fsx_xflags & FS_XFLAG_PROJINHERIT) != 0};
}

absl::Status WriteProject(int directory, const Project& project) {
  fsxattr attributes = {};
  if (::ioctl(directory, FS_IOC_FSGETXATTR, &attributes) != 0) {
    return absl::ErrnoToStatus(errno, "read the project");
  }
  attributes.fsx_projid = project.number;
  attributes.fsx_xflags &= ~uint32_t{FS_XFLAG_PROJINHERIT};
  if (project.handed_on) {
    attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  }
  if (::ioctl(directory, FS_IOC_FSSETXATTR, &attributes) != 0) {
    return absl::ErrnoToStatus(errno, "set the project");
  }
  return absl::OkStatus();
}

bool EnforcesProjects(int directory) {
  fs_quota_statv state = {};
  state.qs_version = FS_QSTATV_VERSION1;
  return Quotactl(directory, Q_XGETQSTATV, 0, &state) == 0 &&
         (state.qs_flags & FS_QUOTA_PDQ_ENFD) != 0;
}

absl::StatusOr<SpaceLimits> ReadProjectLimits(int directory, uint32_t number) {
  ASSIGN_OR_RETURN(const if_dqblk quota, Read(directory, number));
  return SpaceLimits{quota.dqb_bhardlimit * kUnit, quota.dqb_ihardlimit};
}

absl::Status SetProjectLimits(int directory, uint32_t number,
                              const SpaceLimits& limits) {
  if_dqblk quota = {};
  quota.dqb_bhardlimit = limits.bytes / kUnit;
  quota.dqb_ihardlimit = limits.inodes;
  quota.dqb_valid = QIF_LIMITS;
  if (Quotactl(directory, Q_SETQUOTA, number, &quota) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("limit project ", number));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> IsUnused(int directory, uint32_t number) {
  ASSIGN_OR_RETURN(const if_dqblk quota, Read(directory, number));
  return quota.dqb_curspace == 0 && quota.dqb_curinodes == 0 &&
         quota.dqb_bhardlimit == 0 && quota.dqb_ihardlimit == 0;
}

}  // namespace sandbox
