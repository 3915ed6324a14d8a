#include "sandbox/supervisor/input_channel.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/failure.h"

namespace sandbox {

InputChannel::InputChannel(EventLoop* loop, UniqueFd sink, bool terminal)
    : loop_(loop), sink_(std::move(sink)), terminal_(terminal) {}

InputChannel::~InputChannel() { WatchSink(false); }

wire::InputState InputChannel::state() const {
  wire::InputState state;
  state.set_accepted_offset(accepted_);
  state.set_closed(!sink_.valid());
  return state;
}

void InputChannel::Write(uint64_t offset, const std::string& data, bool eof,
                         Done done) {
  const uint64_t next = next_offset();
  if (sink_.valid() && offset > next) {
    done(MakeFailure(wire::Reply::OFFSET_GAP,
                     absl::StrCat("input at offset ", offset,
                                  " leaves a gap after ", next)),
         state());
    return;
  }
  const bool more = sink_.valid() && !eof_ && offset + data.size() > next;
  const size_t size = more ? offset + data.size() - next : 0;
  if (waiters_.size() >= kMaxWaiters || pending_.size() + size > kMaxPending) {
    done(MakeFailure(wire::Reply::SHORTAGE, "too much input waits already"),
         state());
    return;
  }
  if (more) {
    pending_.append(data, next - offset);
  }
  eof_ = eof_ || (eof && !terminal_);
  waiters_.push_back({offset + data.size(), std::move(done)});
  Pump();
}

void InputChannel::Pump() {
  while (sink_.valid() && !pending_.empty()) {
    const ssize_t taken =
        ::write(sink_.get(), pending_.data(), pending_.size());
    if (taken < 0 && errno == EAGAIN) {
      WatchSink(true);
      Answer();
      return;
    }
    if (taken < 0 && errno != EINTR) {
      Close();  // EPIPE, or EIO of a terminal: nobody reads any more
      return;
    }
    if (taken > 0) {
      accepted_ += static_cast<uint64_t>(taken);
      pending_.erase(0, static_cast<size_t>(taken));
    }
  }
  if (eof_) {
    Close();
    return;
  }
  WatchSink(false);
  Answer();
}

void InputChannel::Answer() {
  while (!waiters_.empty() &&
         (waiters_.front().until <= accepted_ || !sink_.valid())) {
    Done done = std::move(waiters_.front().done);
    waiters_.pop_front();
    done(absl::OkStatus(), state());
  }
}

void InputChannel::Close() {
  WatchSink(false);
  sink_.Reset();
  pending_.clear();
  Answer();
}

void InputChannel::WatchSink(bool watch) {
  if (watch == watched_) {
    return;
  }
  watched_ = watch;
  if (watch) {
    loop_->Watch(sink_.get(), EPOLLOUT, [this](uint32_t) { Pump(); });
  } else {
    loop_->Unwatch(sink_.get());
  }
}

}  // namespace sandbox
