// A Landlock domain: what a process and its descendants can never do to others,
// whatever namespaces and user ids they share with them.

#ifndef SANDBOX_KERNEL_LANDLOCK_H_
#define SANDBOX_KERNEL_LANDLOCK_H_

#include "absl/status/status.h"

namespace sandbox {

// Puts the calling thread, which has set no_new_privs, into a domain of its
// own. From now on it and its descendants can neither signal nor trace a
// process outside of the domain, nor connect or send to an abstract Unix socket
// that was made outside. Among themselves, and for files and mounts, nothing
// changes. Unimplemented: this kernel or this host's container has no such
// domains, and nothing has changed.
absl::Status EnterLandlockDomain();

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_LANDLOCK_H_
