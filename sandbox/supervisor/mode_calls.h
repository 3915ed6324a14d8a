// The calls of chmod(2) that Corral makes for commands; see
// ../kernel/directory_modes.h.
//
// A process beside the supervisor makes them, one after another: they take
// rights that the supervisor need not have, and a file system may take its
// time. The process is in the sandbox's mount namespace and in none of its
// others, so nothing inside can reach it. If it ends, calls fail with ENOSYS.

#ifndef SANDBOX_SUPERVISOR_MODE_CALLS_H_
#define SANDBOX_SUPERVISOR_MODE_CALLS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/supervisor/side_process.h"

namespace sandbox {

// Starts the process. `listener` is that of the filter (seccomp_unotify(2)).
// `init` is a process in the mounts of the sandbox, whose ids begin at
// `first_id`, or kNoRange. For a process with one thread. Fails as
// SideProcess::Start() does.
absl::StatusOr<SideProcess> StartModeCalls(UniqueFd listener,
                                           const UniqueFd& init,
                                           uint32_t first_id);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_MODE_CALLS_H_
