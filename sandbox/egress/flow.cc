#include "sandbox/egress/flow.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace egress {
namespace {

constexpr uint64_t kLargestMove = 1 << 20;
constexpr unsigned kFlags = SPLICE_F_NONBLOCK | SPLICE_F_MOVE;

ssize_t Splice(int from, int to, size_t size) {
  ssize_t moved;
  do {
    moved = ::splice(from, nullptr, to, nullptr, size, kFlags);
  } while (moved < 0 && errno == EINTR);
  return moved;
}

}  // namespace

Flow::Flow(PipePool* pipes, int from, int to, std::string first, uint64_t rest)
    : pipes_(pipes),
      from_(from),
      to_(to),
      first_(std::move(first)),
      rest_(rest) {}

Flow::~Flow() = default;

Flow::Next Flow::Move(size_t budget) {
  const uint64_t until = moved_ + budget;
  starved_ = false;
  while (state_ == State::kOpen) {
    if (moved_ >= until) {
      return Next::kAgain;
    }
    if (!SendFirst() || !Fill() || !Drain()) {
      break;
    }
  }
  return starved_ ? Next::kAgain : Next::kWait;
}

bool Flow::SendFirst() {
  while (!first_.empty()) {
    const ssize_t sent =
        ::send(to_, first_.data(), first_.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno != EAGAIN && errno != EINTR) {
        End(State::kBroken);
      }
      return false;
    }
    moved_ += static_cast<uint64_t>(sent);
    first_.erase(0, static_cast<size_t>(sent));
  }
  return true;
}

bool Flow::Fill() {
  if (in_pipe_ > 0) {
    return true;
  }
  if (rest_ == 0) {
    End(State::kEnded);
    return false;
  }
  pipe_ = pipes_->Take();
  if (!pipe_.valid()) {
    starved_ = true;
    return false;
  }
  const ssize_t got =
      Splice(from_, pipe_.writer.get(), std::min(rest_, kLargestMove));
  if (got > 0) {
    in_pipe_ = static_cast<size_t>(got);
    rest_ -= in_pipe_;
    return true;
  }
  const int error = errno;
  pipes_->Return(std::move(pipe_));
  if (got == 0) {
    ::shutdown(to_, SHUT_WR);
    End(State::kEnded);
  } else if (error != EAGAIN) {
    End(State::kBroken);
  }
  return false;
}

bool Flow::Drain() {
  while (in_pipe_ > 0) {
    const ssize_t sent = Splice(pipe_.reader.get(), to_, in_pipe_);
    if (sent <= 0) {
      if (errno != EAGAIN) {
        End(State::kBroken);
      }
      return false;
    }
    in_pipe_ -= static_cast<size_t>(sent);
    moved_ += static_cast<uint64_t>(sent);
  }
  pipes_->Return(std::move(pipe_));
  return true;
}

}  // namespace egress
