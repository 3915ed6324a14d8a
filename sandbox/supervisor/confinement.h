// Confines a supervisor whose sandbox is complete.

#ifndef SANDBOX_SUPERVISOR_CONFINEMENT_H_
#define SANDBOX_SUPERVISOR_CONFINEMENT_H_

#include "absl/status/status.h"

namespace sandbox {

// Which listeners the supervisor will open in the sandbox's network.
enum class Listeners {
  kNone,
  // Those for further ports of a way out, which may be below 1024.
  kOfWayOut,
};

// Takes from this process, for good, what it needs no more:
//   - the host's network: it moves to that of the process behind `init`;
//   - all capabilities except a few;
//   - new privileges by executing a program;
//   - all system calls except those of ../seccomp/supervisor_profile.h. Any
//     other one kills it, and the sandbox with it.
//
// A supervisor keeps its user id, that of root or of a user, and with it that
// one's files. In a user namespace of its own, its capabilities are those
// there. For a process with one thread. In builds with a sanitizer, whose
// runtime makes calls of its own and traces the process, it keeps its
// capabilities and calls. Fails with ISOLATION (see failure.h) if the host has
// no memory for filters.
absl::Status Confine(int init, Listeners listeners);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CONFINEMENT_H_
