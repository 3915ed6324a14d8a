#include "sandbox/egress/service_relay.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace egress {
namespace {

constexpr size_t kReadSize = 16 << 10;

}  // namespace

ServiceRelay::ServiceRelay(int client, TlsStream* upstream,
                           const HttpRequest& request, std::string head,
                           absl::string_view begun)
    : client_(client),
      upstream_(upstream),
      body_(request),
      up_(std::move(head)) {
  body_.Filter(begun, &up_);
}

bool ServiceRelay::Move(size_t budget) {
  size_t moved = 0;
  while (state_ == State::kOpen) {
    if (moved >= budget) {
      return true;
    }
    size_t step = MoveUp();
    if (state_ == State::kOpen) {
      step += MoveDown();
    }
    if (step == 0) {
      break;
    }
    moved += step;
  }
  return false;
}

size_t ServiceRelay::MoveUp() { return up_.empty() ? ReadBody() : SendUp(); }

size_t ServiceRelay::SendUp() {
  size_t moved = 0;
  if (upstream_->Write(up_, &moved) == TlsStream::Result::kFailed) {
    state_ = State::kBroken;
    return 0;
  }
  up_.erase(0, moved);
  sent_ += moved;
  return moved;
}

size_t ServiceRelay::ReadBody() {
  if (body_.state() == ByteFilter::State::kMalformed) {
    state_ = State::kBroken;
    return 0;
  }
  if (client_closed_) {
    return 0;
  }
  char bytes[kReadSize];
  const ssize_t got = ::recv(client_, bytes, sizeof(bytes), 0);
  if (got > 0) {
    // Bytes after the body go nowhere.
    if (body_.state() == ByteFilter::State::kFiltering) {
      body_.Filter({bytes, static_cast<size_t>(got)}, &up_);
    }
    return static_cast<size_t>(got);
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return 0;
  }
  client_closed_ = true;
  if (got < 0 || body_.state() == ByteFilter::State::kFiltering) {
    state_ = State::kBroken;
  } else {
    // The upstream need not go on for a client that has left.
    upstream_->EndWriting();
  }
  return 0;
}

size_t ServiceRelay::MoveDown() {
  return down_.empty() ? ReadAnswer() : SendDown();
}

size_t ServiceRelay::SendDown() {
  const ssize_t sent =
      ::send(client_, down_.data(), down_.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EINTR) {
      state_ = State::kBroken;
    }
    return 0;
  }
  down_.erase(0, static_cast<size_t>(sent));
  received_ += static_cast<uint64_t>(sent);
  return static_cast<size_t>(sent);
}

size_t ServiceRelay::ReadAnswer() {
  if (upstream_ended_) {
    ::shutdown(client_, SHUT_WR);
    state_ = State::kEnded;
    return 0;
  }
  char bytes[kReadSize];
  size_t got = 0;
  switch (upstream_->Read(bytes, sizeof(bytes), &got)) {
    case TlsStream::Result::kDone:
      break;
    case TlsStream::Result::kWait:
      return 0;
    case TlsStream::Result::kEnded:
      upstream_ended_ = true;
      answer_.Finish(&down_);
      return 1;
    case TlsStream::Result::kFailed:
      state_ = State::kBroken;
      return 0;
  }
  if (answer_.state() == ByteFilter::State::kFiltering) {
    answer_.Filter({bytes, got}, &down_);
  } else {
    down_.assign(bytes, got);
  }
  return got;
}

}  // namespace egress
