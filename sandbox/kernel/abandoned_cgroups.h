// What a supervisor that was killed leaves of its sandbox: the processes die
// with it, the control groups stay.

#ifndef SANDBOX_KERNEL_ABANDONED_CGROUPS_H_
#define SANDBOX_KERNEL_ABANDONED_CGROUPS_H_

namespace sandbox {

// Removes the groups of all sandboxes on this host that no supervisor holds,
// and kills what still lives in them. Thread-safe; may block for a second for
// each.
void RemoveAbandonedCgroups();

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_ABANDONED_CGROUPS_H_
