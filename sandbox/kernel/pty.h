// Pseudoterminals of a sandbox's own devpts.

#ifndef SANDBOX_KERNEL_PTY_H_
#define SANDBOX_KERNEL_PTY_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

struct Pty {
  // Non-blocking.
  UniqueFd master;
  UniqueFd slave;
};

// Opens a pair in the mounted devpts with the directory `devpts`. The slave is
// opened through the master, since the sandbox could replace its name.
absl::StatusOr<Pty> OpenPty(int devpts, uint32_t rows, uint32_t columns);

absl::Status ResizePty(int master, uint32_t rows, uint32_t columns);

// Returns the terminal's foreground process group, as a number of the caller's
// pid namespace. 0: there is none, or it is not in that namespace.
absl::StatusOr<pid_t> ForegroundGroup(int master);

// Sends SIGINT, SIGQUIT or SIGTSTP to the whole foreground process group at
// once. InvalidArgument: the kernel accepts no other signals here (Linux
// drivers/tty/pty.c, pty_signal).
absl::Status SignalForeground(int master, int signal);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_PTY_H_
