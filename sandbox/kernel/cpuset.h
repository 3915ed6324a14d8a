// The groups of cgroup v1's hierarchy cpuset. Corral limits nothing there: a
// sandbox has a group in it only because a JVM looks for its limits only where
// it finds that hierarchy, too; see cgroup_view.h.
//
// v1 gives a CPU that went offline back to the root only: these groups then do
// without it until they are removed. An operator who takes CPUs from a group
// above must first take them from these.

#ifndef SANDBOX_KERNEL_CPUSET_H_
#define SANDBOX_KERNEL_CPUSET_H_

#include <string>

#include "absl/status/status.h"

namespace sandbox {

// Gives `directory`, the parent of the groups of all sandboxes, the CPUs and
// memory nodes of its own parent, unless an operator has set others, and makes
// the kernel hand them on to new groups below: a group without CPUs takes no
// process. Does nothing in another hierarchy.
absl::Status InheritCpus(const std::string& directory);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_CPUSET_H_
