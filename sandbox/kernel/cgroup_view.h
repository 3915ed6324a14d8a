// The control groups of a sandbox as its commands see them, at /sys/fs/cgroup.
//
// Programs choose sizes by the limits of their own group: a JVM its heap and
// its threads, Go its GOMAXPROCS, Node.js its heap. They take the path of the
// group from /proc/self/cgroup, append it to the place at which the hierarchy
// is mounted, and read there memory.max and cpu.max, or with cgroup v1
// memory.limit_in_bytes, cpu.cfs_quota_us and cpu.cfs_period_us.
//
//   JVM  src/hotspot/os/linux/cgroupSubsystem_linux.cpp: takes the place from
//        /proc/self/mountinfo; v1: ignores all limits unless memory, cpu,
//        cpuacct and cpuset are mounted; v2, from JDK 25 on: unless
//        /sys/fs/cgroup/cgroup.controllers lists memory and cpu.
//   Go   1.25, src/internal/runtime/cgroup/cgroup_linux.go: takes the place
//        from mountinfo and ignores which group the mount shows.
//   Node libuv, src/unix/linux.c, uv_get_constrained_memory(): takes
//        /sys/fs/cgroup, with v1 /sys/fs/cgroup/memory, for the place.
//
// So each mount must show the root of the cgroup namespace: its root is then
// "/" in mountinfo, which names no group of the host. Most of these programs
// look at no group above their own. Hence SandboxGroups gives the group of each
// command the limits of the sandbox, too.
//
// A limit of CPU time is no set of CPUs: sched_getaffinity(2), which nproc(1)
// asks, returns all CPUs. No other part of sysfs exists inside. Of the programs
// that were tried, hwloc then takes the CPUs from CPUID, and lscpu(1) fails.

#ifndef SANDBOX_KERNEL_CGROUP_VIEW_H_
#define SANDBOX_KERNEL_CGROUP_VIEW_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sandbox/kernel/cgroup_counters.h"
#include "sandbox/kernel/mounts.h"

namespace sandbox {

// Adds read-only mounts of the sandbox's group, which is to be the root of its
// cgroup namespace, to what the host lends. `directories` are
// Cgroup::Directories(). They are copies of the host's mounts and no mounts of
// the sandbox's own: the kernel keeps a list of each memory group for each
// mounted file system.
absl::Status LendCgroups(CgroupVersion version,
                         const std::vector<std::string>& directories,
                         HostTrees& host);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_CGROUP_VIEW_H_
