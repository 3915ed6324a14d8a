#include "sandbox/kernel/pty.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/base/status_macros.h"

namespace sandbox {

absl::StatusOr<Pty> OpenPty(int devpts, uint32_t rows, uint32_t columns) {
  Pty pty;
  pty.master.Reset(
      ::openat(devpts, "ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!pty.master.valid()) {
    return absl::ErrnoToStatus(errno, "open ptmx");
  }
  const int unlock = 0;
  if (::ioctl(pty.master.get(), TIOCSPTLCK, &unlock) != 0) {
    return absl::ErrnoToStatus(errno, "ioctl(TIOCSPTLCK)");
  }
  pty.slave.Reset(
      ::ioctl(pty.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!pty.slave.valid()) {
    return absl::ErrnoToStatus(errno, "ioctl(TIOCGPTPEER)");
  }
  RETURN_IF_ERROR(ResizePty(pty.master.get(), rows, columns));
  return pty;
}

absl::Status ResizePty(int master, uint32_t rows, uint32_t columns) {
  winsize size = {};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(columns);
  if (::ioctl(master, TIOCSWINSZ, &size) != 0) {
    return absl::ErrnoToStatus(errno, "ioctl(TIOCSWINSZ)");
  }
  return absl::OkStatus();
}

absl::StatusOr<pid_t> ForegroundGroup(int master) {
  const pid_t group = ::tcgetpgrp(master);
  if (group < 0) {
    return absl::ErrnoToStatus(errno, "ioctl(TIOCGPGRP)");
  }
  return group;
}

absl::Status SignalForeground(int master, int signal) {
  if (::ioctl(master, TIOCSIG, signal) != 0) {
    return absl::ErrnoToStatus(errno, "ioctl(TIOCSIG)");
  }
  return absl::OkStatus();
}

}  // namespace sandbox
