// The system call filter of a sandbox: profile.h, compiled when Corral is
// built.

#ifndef SANDBOX_SECCOMP_SECCOMP_H_
#define SANDBOX_SECCOMP_SECCOMP_H_

#include "absl/status/status.h"

namespace sandbox::seccomp {

// Loads the profile into the calling thread, for good and for all that it
// starts. The thread must have no_new_privs set. What remains allowed to it
// beyond commands is clone3, which the spawner needs and takes away from each
// command.
absl::Status LoadProfile();

}  // namespace sandbox::seccomp

#endif  // SANDBOX_SECCOMP_SECCOMP_H_
