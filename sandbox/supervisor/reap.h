// Children by their pidfds.

#ifndef SANDBOX_SUPERVISOR_REAP_H_
#define SANDBOX_SUPERVISOR_REAP_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>

#include "absl/time/time.h"

namespace sandbox {

struct Reaped {
  pid_t pid = 0;
  // The status of waitpid(2).
  int wait_status = 0;
  rusage usage = {};
};

// Takes the `options` of waitid(2). Returns no value, with WNOHANG, if the
// child still runs, or if it has ended and its tracer has not reaped it yet.
std::optional<Reaped> Reap(int pidfd, int options);

// Waits up to `limit` for a child that is about to end. Returns no value if it
// has not ended then.
std::optional<Reaped> ReapWithin(int pidfd, absl::Duration limit);

// Returns the process id behind a pidfd, or -1 if it was reaped.
pid_t PidOf(int pidfd);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_REAP_H_
