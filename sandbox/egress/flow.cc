#include "sandbox/egress/flow.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace egress {
namespace {

constexpr uint64_t kLargestMove = 1 << 20;
constexpr size_t kReadSize = 16 << 10;
constexpr unsigned kFlags = SPLICE_F_NONBLOCK | SPLICE_F_MOVE;

ssize_t SpliceSome(int from, int to, size_t size) {
  ssize_t moved;
  do {
    moved = ::splice(from, nullptr, to, nullptr, size, kFlags);
  } while (moved < 0 && errno == EINTR);
  return moved;
}

}  // namespace

Flow::Flow(PipePool* pipes, int from, int to, std::string first, uint64_t rest,
           std::unique_ptr<ByteFilter> filter)
    : pipes_(pipes),
      from_(from),
      to_(to),
      first_(std::move(first)),
      rest_(rest),
      filter_(std::move(filter)) {}

Flow::~Flow() = default;

Flow::Next Flow::Move(size_t budget) {
  turn_ = budget;
  starved_ = false;
  while (state_ == State::kOpen || state_ == State::kComplete) {
    if (turn_ == 0) {
      return Next::kAgain;
    }
    if (!SendFirst() || !Fill() || !Drain()) {
      break;
    }
  }
  return starved_ ? Next::kAgain : Next::kWait;
}

void Flow::Spend(size_t bytes) { turn_ -= std::min(turn_, bytes); }

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
    Spend(static_cast<size_t>(sent));
    first_.erase(0, static_cast<size_t>(sent));
  }
  return true;
}

bool Flow::Fill() {
  if (in_pipe_ > 0) {
    return true;
  }
  if (filter_ != nullptr) {
    switch (filter_->state()) {
      case ByteFilter::State::kFiltering:
        return FillFiltered();
      case ByteFilter::State::kPassing:
        break;
      case ByteFilter::State::kDone:
        rest_ = 0;
        break;
      case ByteFilter::State::kMalformed:
        End(State::kBroken);
        return false;
    }
    filter_.reset();
  }
  return rest_ > 0 ? Splice() : Discard();
}

// The bytes go on as those of first_.
bool Flow::FillFiltered() {
  char bytes[kReadSize];
  const ssize_t got = ::recv(from_, bytes, sizeof(bytes), 0);
  if (got > 0) {
    Spend(static_cast<size_t>(got));
    filter_->Filter({bytes, static_cast<size_t>(got)}, &first_);
    return true;
  }
  if (got == 0) {
    filter_->Finish(&first_);
    filter_.reset();
    return true;
  }
  if (errno != EAGAIN && errno != EINTR) {
    End(State::kBroken);
  }
  return false;
}

bool Flow::Discard() {
  End(State::kComplete);
  char bytes[kReadSize];
  const ssize_t got = ::recv(from_, bytes, sizeof(bytes), 0);
  if (got > 0) {
    Spend(static_cast<size_t>(got));
    return true;
  }
  if (got == 0) {
    return PassEndOn();
  }
  if (errno != EAGAIN && errno != EINTR) {
    End(State::kBroken);
  }
  return false;
}

bool Flow::Splice() {
  pipe_ = pipes_->Take();
  if (!pipe_.valid()) {
    starved_ = true;
    return false;
  }
  const ssize_t got =
      SpliceSome(from_, pipe_.writer.get(), std::min(rest_, kLargestMove));
  if (got > 0) {
    in_pipe_ = static_cast<size_t>(got);
    rest_ -= in_pipe_;
    Spend(in_pipe_);
    return true;
  }
  const int error = errno;
  pipes_->Return(std::move(pipe_));
  if (got == 0) {
    return PassEndOn();
  }
  if (error != EAGAIN) {
    End(State::kBroken);
  }
  return false;
}

bool Flow::PassEndOn() {
  ::shutdown(to_, SHUT_WR);
  End(State::kEnded);
  return false;
}

bool Flow::Drain() {
  if (in_pipe_ == 0) {
    return true;
  }
  while (in_pipe_ > 0) {
    const ssize_t sent = SpliceSome(pipe_.reader.get(), to_, in_pipe_);
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
