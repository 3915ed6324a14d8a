// Limits how fast the processes of a control group read and write the disks of
// the host: io.max of cgroup v2, blkio.throttle.* of v1.
//
// v1 slows what a process waits for: reads, writes without the cache, fsync(2);
// but not what the kernel writes later, from its cache, which it charges to
// nobody there.
//
// Not thread-safe.

#ifndef SANDBOX_KERNEL_DISK_SPEED_H_
#define SANDBOX_KERNEL_DISK_SPEED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sandbox/kernel/cgroup_counters.h"

namespace sandbox {

// For each disk; reads and writes each may be as fast. In each field, 0 means
// no limit.
struct DiskSpeed {
  uint64_t bytes_per_second = 0;
  uint64_t operations_per_second = 0;

  bool limited() const {
    return bytes_per_second != 0 || operations_per_second != 0;
  }
};

// Returns the numbers, like "8:0", of all disks of this host: block devices
// that are no partitions and have a size. A file system on several devices, or
// on one that consists of others, is limited with each of them.
std::vector<std::string> Disks();

// v2: makes the groups above `directory`, up to the parent of the group of all
// sandboxes, hand the controller on to it. `directory` is that of commands
// together: see SandboxGroups. Fails with ISOLATION (see failure.h) if this
// host cannot.
absl::Status HandOnDiskSpeed(const std::string& directory);

// True if a group can be limited. `directory` is that of one hierarchy.
bool HasDiskSpeed(CgroupVersion version, const std::string& directory);

// Sets both limits of a group. A disk that has gone meanwhile is left out.
// Fails with ISOLATION if no disk is limited.
absl::Status SetDiskSpeed(CgroupVersion version, const std::string& directory,
                          const std::vector<std::string>& disks,
                          const DiskSpeed& speed);

// Ends the limits of groups that are to be removed, if they have one: a process
// that waits for a slow disk does not die before its turn.
void LiftDiskSpeed(CgroupVersion version,
                   const std::vector<std::string>& directories);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_DISK_SPEED_H_
