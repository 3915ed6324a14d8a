#include "bridge/cli/attach/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace bridge {

bool IsInteractive() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
}

bool HasInput() {
  struct stat status;
  const int flags = ::fcntl(STDIN_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY ||
      ::fstat(STDIN_FILENO, &status) != 0) {
    return false;
  }
  const bool is_null =
      S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
  // If the descriptor was closed, gRPC opened an eventfd in its place before
  // main() began. An eventfd has no file type.
  const bool is_anonymous = (status.st_mode & S_IFMT) == 0;
  return !is_null && !is_anonymous;
}

corral::v1::TerminalSize GetTerminalSize() {
  corral::v1::TerminalSize size;
  size.set_rows(24);
  size.set_columns(80);
  for (const int fd : {STDOUT_FILENO, STDIN_FILENO}) {
    winsize window;
    if (::ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_row > 0 &&
        window.ws_col > 0) {
      size.set_rows(window.ws_row);
      size.set_columns(window.ws_col);
      break;
    }
  }
  return size;
}

RawTerminal::RawTerminal() {
  termios mode;
  if (::tcgetattr(STDIN_FILENO, &mode) != 0) {
    return;
  }
  saved_ = mode;
  ::cfmakeraw(&mode);
  // TCSADRAIN, unlike TCSAFLUSH, keeps input that was typed ahead.
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
}

RawTerminal::~RawTerminal() {
  if (saved_.has_value()) {
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*saved_);
  }
}

}  // namespace bridge
