// chmod(2) with a setgid bit, made for a command by a process beside its
// supervisor.
//
// A setgid directory is harmless. A setgid file in a workspace would act on the
// host for the group of the workspace's owner, and no filter of system calls
// can see which of both a call is for. So the filter hands these calls over
// (see ../seccomp/arguments.h): that process opens what the caller names, once,
// looks at what it has opened, and changes that.

#ifndef SANDBOX_KERNEL_DIRECTORY_MODES_H_
#define SANDBOX_KERNEL_DIRECTORY_MODES_H_

#include <sys/types.h>

#include <cstdint>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// A call that waits for its result.
struct ModeCall {
  // The calling thread, as a number of this process's pid namespace.
  pid_t thread;
  // SYS_chmod, SYS_fchmod or SYS_fchmodat.
  int number;
  uint64_t arguments[3];
};

// Used by the one thread that has made it.
class DirectoryModes {
 public:
  // Moves the calling thread for good into the mount namespace of the process
  // behind `init`, whose ids begin at `first_id`, or are those of this process
  // if that is kNoRange (see namespaces.h). It stays out of the sandbox's
  // other namespaces, and so out of reach of what runs there.
  static absl::StatusOr<DirectoryModes> Enter(const UniqueFd& init,
                                              uint32_t first_id);

  // Makes the call with the rights of its caller, if it is for a directory.
  // Returns 0 or an errno; EPERM if it is not for a directory, or if the caller
  // may not. `waits` returns true if the call still waits for its result, so
  // that no other process got the caller's number meanwhile.
  int Make(const ModeCall& call, absl::FunctionRef<bool()> waits) const;

 private:
  DirectoryModes(UniqueFd processes, UniqueFd descriptors, uint32_t first_id)
      : processes_(std::move(processes)),
        descriptors_(std::move(descriptors)),
        first_id_(first_id) {}

  // The host's /proc, and its directory with this thread's descriptors. The
  // thread sees neither any more.
  UniqueFd processes_;
  UniqueFd descriptors_;
  uint32_t first_id_;
};

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_DIRECTORY_MODES_H_
