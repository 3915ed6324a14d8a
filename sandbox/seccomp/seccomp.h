// The system call filter of a sandbox: profile.h, compiled at build time.

#ifndef SANDBOX_SECCOMP_SECCOMP_H_
#define SANDBOX_SECCOMP_SECCOMP_H_

#include "absl/status/status.h"

namespace sandbox::seccomp {

// Loads the profile into the calling thread, which must have no_new_privs set.
// It cannot be removed, and children inherit it. It allows clone3 with any
// flags; see ForbidNamespaces() in ../kernel/namespaces.h.
absl::Status LoadProfile();

}  // namespace sandbox::seccomp

#endif  // SANDBOX_SECCOMP_SECCOMP_H_
