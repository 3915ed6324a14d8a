// Waiting for a child by its pidfd.

#ifndef SANDBOX_SUPERVISOR_REAP_H_
#define SANDBOX_SUPERVISOR_REAP_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>

namespace sandbox {

struct Reaped {
  pid_t pid = 0;
  // From waitpid(2).
  int wait_status = 0;
  rusage usage = {};
};

// `options` as of waitid(2). Nothing, with WNOHANG: the child still runs, or it
// has ended and its tracer has not been notified yet.
std::optional<Reaped> Reap(int pidfd, int options);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_REAP_H_
