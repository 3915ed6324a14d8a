#include "bridge/client/port_listener.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"

namespace client {
namespace {

using sandbox::UniqueFd;

constexpr int kBacklog = 1024;
// How often another free port is tried when that of 127.0.0.1 is in use at ::1.
constexpr int kAttempts = 20;

absl::StatusOr<UniqueFd> Bind(int family, uint16_t port) {
  UniqueFd socket(
      ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in ipv4 = {};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(port);
  ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 ipv6 = {};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(port);
  ipv6.sin6_addr = in6addr_loopback;
  const bool is_ipv4 = family == AF_INET;
  const auto* const address = is_ipv4
                                  ? reinterpret_cast<const sockaddr*>(&ipv4)
                                  : reinterpret_cast<const sockaddr*>(&ipv6);
  const socklen_t size = is_ipv4 ? sizeof(ipv4) : sizeof(ipv6);
  if (!socket.valid() || ::bind(socket.get(), address, size) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    const int error = errno;
    const std::string where =
        absl::StrCat(is_ipv4 ? "127.0.0.1:" : "[::1]:", port);
    return error == EADDRINUSE
               ? absl::AlreadyExistsError(
                     absl::StrCat("another program listens on ", where))
               : absl::ErrnoToStatus(error, absl::StrCat("listen on ", where));
  }
  return socket;
}

uint16_t PortOf(const UniqueFd& ipv4) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  ::getsockname(ipv4.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

absl::StatusOr<std::vector<UniqueFd>> BindBoth(uint16_t port) {
  std::vector<UniqueFd> sockets;
  ASSIGN_OR_RETURN(UniqueFd ipv4, Bind(AF_INET, port));
  absl::StatusOr<UniqueFd> ipv6 = Bind(AF_INET6, PortOf(ipv4));
  sockets.push_back(std::move(ipv4));
  if (ipv6.ok()) {
    sockets.push_back(*std::move(ipv6));
  } else if (absl::IsAlreadyExists(ipv6.status())) {
    return ipv6.status();
  }  // any other failure: there is no IPv6
  return sockets;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PortListener>> PortListener::Listen(
    uint16_t port) {
  absl::StatusOr<std::vector<UniqueFd>> sockets = BindBoth(port);
  for (int i = 1;
       port == 0 && i < kAttempts && absl::IsAlreadyExists(sockets.status());
       ++i) {
    sockets = BindBoth(port);
  }
  RETURN_IF_ERROR(sockets.status());
  const uint16_t bound = PortOf(sockets->front());
  return std::unique_ptr<PortListener>(
      new PortListener(bound, *std::move(sockets)));
}

PortListener::PortListener(uint16_t port, std::vector<UniqueFd> sockets)
    : port_(port), sockets_(std::move(sockets)) {}

PortListener::~PortListener() { Unwatch(); }

void PortListener::Accept(sandbox::EventLoop* loop,
                          OnConnection on_connection) {
  loop_ = loop;
  on_connection_ = std::move(on_connection);
  Watch();
}

void PortListener::Watch() {
  for (const UniqueFd& socket : sockets_) {
    loop_->Watch(socket.get(), EPOLLIN,
                 [this, fd = socket.get()](uint32_t) { AcceptOne(fd); });
  }
}

void PortListener::Unwatch() {
  if (loop_ != nullptr) {
    for (const UniqueFd& socket : sockets_) {
      loop_->Unwatch(socket.get());
    }
  }
}

void PortListener::AcceptOne(int socket) {
  UniqueFd connection(
      ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (connection.valid()) {
    on_connection_(std::move(connection));
  } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
             errno == ENOBUFS) {
    Unwatch();
    retry_ = sandbox::Timer(loop_, kRetry, [this] { Watch(); });
  }
}

}  // namespace client
