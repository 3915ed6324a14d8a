#include "sandbox/kernel/inside_sockets.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"

namespace sandbox {
namespace {

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

}  // namespace

absl::StatusOr<std::vector<UniqueFd>> MakeTcpSocketsIn(int pidfd) {
  const UniqueFd own(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!own.valid() || ::setns(pidfd, CLONE_NEWNET) != 0) {
    return absl::ErrnoToStatus(errno, "setns(net)");
  }
  absl::StatusOr<std::vector<UniqueFd>> sockets = MakeTcpSockets();
  if (::setns(own.get(), CLONE_NEWNET) != 0) {
    return absl::ErrnoToStatus(errno, "setns(own net)");
  }
  return sockets;
}

}  // namespace sandbox
