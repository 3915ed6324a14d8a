#include "server/ports/loopback_dial.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace server {
namespace {

using sandbox::UniqueFd;

int Connect(int socket, uint16_t port) {
  int family = AF_INET;
  socklen_t size = sizeof(family);
  ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size);
  if (family == AF_INET) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::connect(socket, reinterpret_cast<sockaddr*>(&address),
                     sizeof(address));
  }
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = in6addr_loopback;
  return ::connect(socket, reinterpret_cast<sockaddr*>(&address),
                   sizeof(address));
}

// TCP connects a socket to itself if nobody listens on a port that the kernel
// chooses as the socket's own.
bool IsConnectedToItself(int socket) {
  sockaddr_storage own = {};
  sockaddr_storage peer = {};
  socklen_t own_size = sizeof(own);
  socklen_t peer_size = sizeof(peer);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size);
  ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size);
  return own_size == peer_size && std::memcmp(&own, &peer, own_size) == 0;
}

absl::Status ToStatus(int error) {
  return error == ECONNREFUSED
             ? absl::NotFoundError("no server listens")
             : absl::Status(absl::StatusCode::kInternal,
                            absl::ErrnoToStatus(error, "connect").message());
}

}  // namespace

LoopbackDial::LoopbackDial(sandbox::EventLoop* loop,
                           std::vector<UniqueFd> sockets, uint16_t port,
                           absl::Duration patience)
    : loop_(loop),
      sockets_(std::move(sockets)),
      port_(port),
      patience_(patience) {}

LoopbackDial::~LoopbackDial() {
  for (const UniqueFd& socket : sockets_) {
    loop_->Unwatch(socket.get());
  }
}

void LoopbackDial::Begin(Done done) {
  done_ = std::move(done);
  limit_ = sandbox::Timer(loop_, patience_, [this] {
    loop_->Unwatch(sockets_[next_].get());
    End(absl::DeadlineExceededError("the server does not accept"));
  });
  Try();
}

void LoopbackDial::Try() {
  const int socket = sockets_[next_].get();
  if (Connect(socket, port_) == 0) {
    OnResult(0);
  } else if (errno == EINPROGRESS) {
    loop_->Watch(socket, EPOLLOUT, [this](uint32_t) { OnReady(); });
  } else {
    OnResult(errno);
  }
}

void LoopbackDial::OnReady() {
  const int socket = sockets_[next_].get();
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  loop_->Unwatch(socket);
  OnResult(error);
}

void LoopbackDial::OnResult(int error) {
  if (error == 0 && !IsConnectedToItself(sockets_[next_].get())) {
    End(std::move(sockets_[next_]));
    return;
  }
  // Only the first error is kept, not that of ::1, which a namespace may lack.
  failure_.Update(ToStatus(error == 0 ? ECONNREFUSED : error));
  ++next_;
  if (next_ == sockets_.size()) {
    End(failure_);
  } else {
    Try();
  }
}

void LoopbackDial::End(absl::StatusOr<UniqueFd> result) {
  limit_.Cancel();
  done_(std::move(result));
}

}  // namespace server
