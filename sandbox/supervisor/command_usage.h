// The CPU time, memory and disk that a command has used.

#ifndef SANDBOX_SUPERVISOR_COMMAND_USAGE_H_
#define SANDBOX_SUPERVISOR_COMMAND_USAGE_H_

#include <sys/resource.h>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/kernel/cgroup.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

// Sets everything but the wall time. `group` is the usage of all processes, as
// counted by the cgroup. `reaped` is the usage of the command and of the
// children that it waited for, as the kernel reported it with the exit. The
// larger value of each CPU time counts: a host without cpuacct counts none for
// the cgroup. What was read from disks and written is that of `reaped` alone:
// io.stat of cgroup v2 counts what the kernel has written to a disk, which it
// does mostly after the end of the command, when the group serves another one.
void SetUsage(const CgroupUsage& group, const rusage& reaped,
              wire::Usage* usage);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_USAGE_H_
