// Measures what a command has used of its host.

#ifndef SANDBOX_SUPERVISOR_COMMAND_USAGE_H_
#define SANDBOX_SUPERVISOR_COMMAND_USAGE_H_

#include <sys/resource.h>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/kernel/cgroup.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

// Sets everything but the wall time. `group` is what the cgroup counted, of all
// processes; `reaped` what the kernel reported with the exit of the command, of
// itself and the children that it waited for. The larger value of each CPU time
// counts: a host without cpuacct counts none for the cgroup.
void SetUsage(const CgroupUsage& group, const rusage& reaped,
              wire::Usage* usage);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_USAGE_H_
