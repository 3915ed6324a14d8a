#include "sandbox/egress/dialer.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace egress {

Dialer::Dialer(sandbox::EventLoop* loop, sandbox::Timers* timers,
               std::vector<IpAddress> addresses, uint16_t port, Done done)
    : loop_(loop),
      timers_(timers),
      addresses_(std::move(addresses)),
      port_(port),
      done_(std::move(done)) {}

Dialer::~Dialer() { Abandon(); }

void Dialer::Try() {
  while (next_ < std::min(addresses_.size(), kMaxAttempts)) {
    if (Begin(addresses_[next_++])) {
      return;
    }
  }
  Finish(IpAddress());
}

bool Dialer::Begin(const IpAddress& address) {
  socket_.Reset(::socket(address.family(),
                         SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_storage target;
  const socklen_t size = address.ToSocket(port_, &target);
  if (!socket_.valid() ||
      (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&target), size) !=
           0 &&
       errno != EINPROGRESS)) {
    socket_.Reset();
    return false;
  }
  loop_->Watch(socket_.get(), EPOLLOUT, [this](uint32_t) { OnReady(); });
  timeout_ = sandbox::Timer(timers_, kAttemptTime, [this] {
    Abandon();
    Try();
  });
  return true;
}

void Dialer::OnReady() {
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  timeout_.Cancel();
  if (error != 0) {
    Abandon();
    Try();
    return;
  }
  Finish(addresses_[next_ - 1]);
}

void Dialer::Abandon() {
  if (socket_.valid()) {
    loop_->Unwatch(socket_.get());
    socket_.Reset();
  }
}

void Dialer::Finish(const IpAddress& address) {
  if (socket_.valid()) {
    loop_->Unwatch(socket_.get());
  }
  // The call may destroy this object.
  const IpAddress reached = address;
  const Done done = done_;
  done(std::move(socket_), reached);
}

}  // namespace egress
