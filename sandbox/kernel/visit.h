// Work in the namespaces of another process, for a caller that waits for it.

#ifndef SANDBOX_KERNEL_VISIT_H_
#define SANDBOX_KERNEL_VISIT_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace sandbox {

// Runs `work` in a child that has entered the user, mount, network, ipc, uts
// and cgroup namespaces of the process behind `pidfd`, and returns its result.
// The child stays in the pid namespace of the caller, where nothing inside sees
// or signals it. It begins with the caller's user ids and all capabilities in
// the user namespace that it entered.
//
// The child has the caller's memory, as one of vfork(2) has: copying it would
// take longer than the work. So nothing untrusted may run in the namespaces
// yet. Memory stays as `work` leaves it; the descriptors that it opens or
// closes, its ids, its umask and its working directory are the child's own. It
// may take 48 KiB of stack. For a single-threaded process, which is stopped
// meanwhile. Fails with Aborted if the child was killed; then the memory is
// that of unfinished work, and the caller must end soon.
absl::Status Visit(int pidfd, absl::FunctionRef<absl::Status()> work);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_VISIT_H_
