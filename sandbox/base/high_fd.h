// Descriptors for a child that puts its own at the numbers from 0 on.

#ifndef SANDBOX_BASE_HIGH_FD_H_
#define SANDBOX_BASE_HIGH_FD_H_

#include <fcntl.h>

#include "sandbox/base/unique_fd.h"

namespace sandbox {

// A number above all those that the programs here give to their descriptors.
inline constexpr int kHighFd = 16;

// Returns a duplicate with a number from kHighFd on, close-on-exec; not valid,
// with errno set, if fcntl(2) fails.
//
// A child calls dup2() to put descriptors at fixed low numbers. One that has
// its low number already would keep close-on-exec, and one that another
// descriptor needs would be closed.
inline UniqueFd DuplicateHigh(int fd) {
  return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, kHighFd));
}

}  // namespace sandbox

#endif  // SANDBOX_BASE_HIGH_FD_H_
