#include "sandbox/kernel/inside_sockets.h"

#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace sandbox {

absl::Status EnterNetwork(int pidfd) {
  return ::setns(pidfd, CLONE_NEWNET) == 0
             ? absl::OkStatus()
             : absl::ErrnoToStatus(errno, "setns(net)");
}

absl::StatusOr<std::vector<UniqueFd>> MakeTcpSockets() {
  std::vector<UniqueFd> sockets;
  for (const int family : {AF_INET, AF_INET6}) {
    UniqueFd socket(
        ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.valid()) {
      sockets.push_back(std::move(socket));
    } else if (errno != EAFNOSUPPORT || family == AF_INET) {
      return absl::ErrnoToStatus(errno, "socket");
    }
  }
  return sockets;
}

}  // namespace sandbox
