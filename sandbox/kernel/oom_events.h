// Announcements of cgroup v1 that memory runs out in a group. cgroup v2 needs
// none: it kills whole groups itself (memory.oom.group).
//
// Source: Linux Documentation/admin-guide/cgroup-v1/memory.rst, "OOM Control".

#ifndef SANDBOX_KERNEL_OOM_EVENTS_H_
#define SANDBOX_KERNEL_OOM_EVENTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Returns an eventfd, which does not block. It becomes readable whenever a
// limit of the group in `directory`, or of a group above it, is reached and no
// memory can be taken back: just before the kernel chooses a process of either
// to kill. Says nothing when the whole host runs out of memory.
absl::StatusOr<UniqueFd> WatchOom(const std::string& directory);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_OOM_EVENTS_H_
