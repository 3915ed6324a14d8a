// The system call filters of sandboxes and of their supervisors: profile.h and
// supervisor_profile.h, compiled at build time.

#ifndef SANDBOX_SECCOMP_SECCOMP_H_
#define SANDBOX_SECCOMP_SECCOMP_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/seccomp/profile_name.h"

namespace sandbox::seccomp {

// Loads a profile into the calling thread, which must have no_new_privs set.
// It cannot be removed, and children inherit it. It allows clone3 with any
// flags; see LimitNamespaces() in ../kernel/namespaces.h. Fails with
// FailedPrecondition if the host has no memory for filters left; see
// filter_error.h in ../base.
//
// Returns the listener of the profile (seccomp_unotify(2)), if it has one.
// Invalid also where the calling process has one already, as in some
// containers: the calls that would wait for an answer fail with ENOSYS.
absl::StatusOr<UniqueFd> LoadProfile(Profile profile);

// Loads the calls of a supervisor whose sandbox is complete, for all threads of
// the process; see supervisor_profile.h. Any other call kills the process.
// Fails as LoadProfile() does, and with Internal if another thread has a filter
// that the calling one has not.
absl::Status LoadSupervisorProfile();

}  // namespace sandbox::seccomp

#endif  // SANDBOX_SECCOMP_SECCOMP_H_
