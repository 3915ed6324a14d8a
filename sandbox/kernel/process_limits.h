// Limits of the commands of a sandbox where the host gives no control groups:
// resource limits, which processes inherit and cannot raise.

#ifndef SANDBOX_KERNEL_PROCESS_LIMITS_H_
#define SANDBOX_KERNEL_PROCESS_LIMITS_H_

#include <sys/types.h>

#include "absl/status/status.h"
#include "sandbox/kernel/cgroup_limits.h"

namespace sandbox {

// Limits the process `spawner`, whose children are commands. Memory is limited
// for each process alone: what it may write privately (RLIMIT_DATA). Processes
// and threads are limited together, since the kernel counts them for the
// sandbox's user namespace, since Linux 5.14 (RLIMIT_NPROC). Fails with
// ISOLATION if the limits contain one that nothing can stand in for: CPU time,
// and the end of all processes when memory runs out.
absl::Status LimitProcesses(pid_t spawner, const CgroupLimits& limits);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_PROCESS_LIMITS_H_
