// Control groups of sandboxes whose supervisor was killed: the processes died
// with it, the groups stayed, and the file of its ids (see id_range.h).

#ifndef SANDBOX_KERNEL_ABANDONED_CGROUPS_H_
#define SANDBOX_KERNEL_ABANDONED_CGROUPS_H_

namespace sandbox {

// Removes the groups of all sandboxes of this host that have no supervisor,
// kills the processes in them, and frees their ids. Returns false if some are
// left, because a process does not end. Thread-safe; may block for a second for
// each.
bool RemoveAbandonedCgroups();

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_ABANDONED_CGROUPS_H_
