// The size of pipes that carry much.

#ifndef SANDBOX_SUPERVISOR_PIPE_SIZE_H_
#define SANDBOX_SUPERVISOR_PIPE_SIZE_H_

#include <fcntl.h>

namespace sandbox {

inline constexpr int kLargePipe = 256 << 10;

// A larger pipe means fewer context switches. A host that forbids this size
// leaves the pipe as it is.
inline void EnlargePipe(int pipe) {
  (void)::fcntl(pipe, F_SETPIPE_SZ, kLargePipe);
}

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_PIPE_SIZE_H_
