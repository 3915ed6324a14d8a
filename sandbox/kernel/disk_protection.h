// Tries what this host can enforce about the use of its disks.

#ifndef SANDBOX_KERNEL_DISK_PROTECTION_H_
#define SANDBOX_KERNEL_DISK_PROTECTION_H_

#include "absl/status/status.h"
#include "sandbox/kernel/cgroup.h"

namespace sandbox {

// Fails if a sandbox cannot be given a limit of the speed of disks; see
// disk_speed.h. Makes a control group for a moment, and changes nothing that
// lasts.
absl::Status TryDiskSpeed(const CgroupHost& host);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_DISK_PROTECTION_H_
