// Tries what this host can enforce about the use of its disks.

#ifndef SANDBOX_KERNEL_DISK_PROTECTION_H_
#define SANDBOX_KERNEL_DISK_PROTECTION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sandbox/kernel/cgroup.h"

namespace sandbox {

// Fails if a sandbox cannot be given a limit of the speed of disks; see
// disk_speed.h. Makes a control group for a moment, and changes nothing that
// lasts.
absl::Status TryDiskSpeed(const CgroupHost& host);

// The places where file systems are mounted that have their data on a disk.
struct DiskFileSystems {
  // Those that enforce projects: see project_quota.h.
  std::vector<std::string> with_projects;
  std::vector<std::string> others;
};
DiskFileSystems FindDiskFileSystems();

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_DISK_PROTECTION_H_
