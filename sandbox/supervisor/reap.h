// Waiting for a child by its pidfd.

#ifndef SANDBOX_SUPERVISOR_REAP_H_
#define SANDBOX_SUPERVISOR_REAP_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>

namespace sandbox {

struct Reaped {
  pid_t pid = 0;
  // As of waitpid(2).
  int wait_status = 0;
  rusage usage = {};
};

// `options` as of waitid(2). Nothing, with WNOHANG: it has not ended, or a
// tracer has yet to learn that it has.
std::optional<Reaped> Reap(int pidfd, int options);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_REAP_H_
