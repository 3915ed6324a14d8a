// Control groups of sandboxes whose supervisor was killed: the processes died
// with it, the groups stayed.

#ifndef SANDBOX_KERNEL_ABANDONED_CGROUPS_H_
#define SANDBOX_KERNEL_ABANDONED_CGROUPS_H_

namespace sandbox {

// Removes the groups of all sandboxes of this host that have no supervisor, and
// kills the processes in them. Thread-safe; may block for a second for each.
void RemoveAbandonedCgroups();

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_ABANDONED_CGROUPS_H_
