#include "sandbox/base/socket_pump.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sandbox/base/reset_on_close.h"
#include "sandbox/base/send_at_once.h"

namespace sandbox {
namespace {

absl::Status Reset() { return absl::AbortedError("the connection was reset"); }

}  // namespace

SocketPump::SocketPump(EventLoop* loop, UniqueFd socket, Peer* peer,
                       size_t max_written)
    : loop_(loop),
      socket_(std::move(socket)),
      peer_(peer),
      max_written_(std::min(max_written, kMaxData)) {
  SendAtOnce(socket_.get());
}

SocketPump::~SocketPump() {
  Unwatch();
  ResetOnClose(socket_.get());
}

void SocketPump::Begin() {
  Watch();
  peer_->Read();
}

uint32_t SocketPump::wanted() const {
  return (from_ == FromSocket::kReceiving ? uint32_t{EPOLLIN} : 0) |
         (to_ == ToSocket::kSending ? uint32_t{EPOLLOUT} : 0);
}

void SocketPump::Watch() {
  const uint32_t before = std::exchange(events_, wanted());
  if (!watched_) {
    watched_ = true;
    loop_->Watch(socket_.get(), events_,
                 [this](uint32_t events) { OnReady(events); });
  } else if (events_ != before) {
    loop_->SetEvents(socket_.get(), events_);
  }
}

void SocketPump::Unwatch() {
  if (watched_) {
    watched_ = false;
    loop_->Unwatch(socket_.get());
  }
}

void SocketPump::OnReady(uint32_t events) {
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
    OnHangUp();
    return;
  }
  // The watch is changed only when an unwanted event comes: most events are
  // wanted, and epoll_ctl(2) costs a system call.
  if ((events & ~wanted()) != 0) {
    Watch();
  }
  if ((events & EPOLLOUT) != 0 && to_ == ToSocket::kSending) {
    Send();
  }
  if ((events & EPOLLIN) != 0 && from_ == FromSocket::kReceiving) {
    Receive();
  }
}

void SocketPump::OnHangUp() {
  Unwatch();
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    Break();
  } else if (from_ == FromSocket::kReceiving) {
    Receive();
  }
}

void SocketPump::Break() {
  to_ = ToSocket::kBroken;
  unsent_.clear();
  reset_ = Timer(loop_, kResetPatience, [this] { End(Reset()); });
  if (from_ == FromSocket::kReceiving) {
    Receive();
  } else {
    MaybeEnd();
  }
}

void SocketPump::Receive() {
  char data[kMaxData];
  const ssize_t size = ::recv(socket_.get(), data, max_written_, 0);
  if (size > 0) {
    from_ = FromSocket::kWriting;
    peer_->Write(std::string(data, static_cast<size_t>(size)));
  } else if (size < 0 && errno == EAGAIN) {
    Watch();
  } else if (size < 0 || to_ == ToSocket::kBroken) {
    End(Reset());
  } else {
    from_ = FromSocket::kWritingEnd;
    peer_->WriteEnd();
  }
}

void SocketPump::OnWritten() {
  if (from_ == FromSocket::kWriting) {
    from_ = FromSocket::kReceiving;
    Receive();
  } else if (from_ == FromSocket::kWritingEnd) {
    from_ = FromSocket::kEnded;
    MaybeEnd();
  }
}

void SocketPump::OnRead(std::string data) {
  if (to_ == ToSocket::kReading) {
    to_ = ToSocket::kSending;
    unsent_ = std::move(data);
    sent_ = 0;
    Send();
  }
}

void SocketPump::Send() {
  while (sent_ < unsent_.size()) {
    const ssize_t size = ::send(socket_.get(), unsent_.data() + sent_,
                                unsent_.size() - sent_, MSG_NOSIGNAL);
    if (size < 0 && errno == EAGAIN) {
      Watch();
      return;
    }
    if (size < 0) {
      Break();
      return;
    }
    sent_ += static_cast<size_t>(size);
  }
  unsent_ = std::string();
  to_ = ToSocket::kReading;
  peer_->Read();
}

void SocketPump::OnReadEnd() {
  if (to_ == ToSocket::kReading) {
    to_ = ToSocket::kEnded;
    ::shutdown(socket_.get(), SHUT_WR);
    MaybeEnd();
  }
}

void SocketPump::MaybeEnd() {
  if (from_ != FromSocket::kEnded) {
    return;
  }
  if (to_ == ToSocket::kBroken) {
    End(Reset());
  } else if (to_ == ToSocket::kEnded) {
    End(absl::OkStatus());
  }
}

void SocketPump::End(const absl::Status& status) {
  Unwatch();
  reset_.Cancel();
  from_ = FromSocket::kEnded;
  to_ = ToSocket::kEnded;
  if (!status.ok()) {
    ResetOnClose(socket_.get());
  }
  socket_.Reset();
  peer_->OnEnd(status);
}

}  // namespace sandbox
