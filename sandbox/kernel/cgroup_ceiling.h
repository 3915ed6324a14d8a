// The limits of all sandboxes of a host together. A sandbox may have most of
// the memory, and several of them more than there is: without a ceiling they
// take what the host itself needs.

#ifndef SANDBOX_KERNEL_CGROUP_CEILING_H_
#define SANDBOX_KERNEL_CGROUP_CEILING_H_

#include <string>

#include "absl/status/status.h"

namespace sandbox {

// Gives a group, the parent of those of all sandboxes, nine tenths of the
// host's memory and half of its process ids. `directory` is that of one
// hierarchy, v1 or v2. Leaves a limit that an operator has set.
absl::Status SetCeiling(const std::string& directory);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_CGROUP_CEILING_H_
