// A pseudoterminal of a sandbox's own devpts.

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

// `devpts` is the directory of a mounted devpts. The slave is opened through
// the master and not by its name, which the sandbox could have replaced.
absl::StatusOr<Pty> OpenPty(int devpts, uint32_t rows, uint32_t columns);

absl::Status ResizePty(int master, uint32_t rows, uint32_t columns);

// The number of the terminal's foreground process group in the caller's pid
// namespace. 0: there is none, or none there.
absl::StatusOr<pid_t> ForegroundGroup(int master);

// Sends SIGINT, SIGQUIT or SIGTSTP to the whole foreground process group at
// once. InvalidArgument: another signal, which the kernel does not take here
// (Linux drivers/tty/pty.c, pty_signal).
absl::Status SignalForeground(int master, int signal);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_PTY_H_
