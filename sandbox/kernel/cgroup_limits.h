// The limits of one control group, in the files of cgroup v2 and v1.

#ifndef SANDBOX_KERNEL_CGROUP_LIMITS_H_
#define SANDBOX_KERNEL_CGROUP_LIMITS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "sandbox/kernel/cgroup_counters.h"

namespace sandbox {

struct CgroupLimits {
  // In each field, 0 means no limit. v1: buffers of sockets may take a quarter
  // of memory_bytes in addition to it.
  uint64_t memory_bytes = 0;
  uint64_t pids = 0;
  uint64_t cpu_millis = 0;
  // v2: when the kernel kills a process of the group because memory ran out, it
  // kills all others of the group with it. v1: does nothing; see oom_events.h.
  bool kill_all_on_oom = false;
};

// Sets the limits that are not 0. `directory` is that of one hierarchy.
absl::Status SetCgroupLimits(CgroupVersion version,
                             const std::string& directory,
                             const CgroupLimits& limits);

// v1 counts the buffers of sockets apart from other memory, and only in a group
// whose own limit for them was written once; a limit of the parent group does
// not count. Makes the kernel count them, without a limit.
absl::Status CountSocketMemory(const std::string& directory);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_CGROUP_LIMITS_H_
