#include "sandbox/supervisor/output_channel.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/supervisor/pipe_size.h"

namespace sandbox {
namespace {

// The most that one turn moves, so that other channels get their turns.
constexpr size_t kTurn = size_t{1} << 20;
constexpr absl::Duration kDiskRetry = absl::Milliseconds(200);
// A pipe that held as much was full, or nearly.
constexpr size_t kFullPipe = size_t{32} << 10;

bool MayDrop(Overflow overflow) {
  return overflow == Overflow::kDropOldest ||
         overflow == Overflow::kHeadAndTail;
}

}  // namespace

OutputChannel::OutputChannel(const OutputHost& host, wire::Stream kind,
                             UniqueFd source, OutputLogWriter log,
                             Callbacks callbacks)
    : host_(host),
      kind_(kind),
      source_(std::move(source)),
      log_(std::move(log)),
      callbacks_(std::move(callbacks)) {
  host_.quota->Add(this);
  SetWait(Wait::kForData);
}

OutputChannel::~OutputChannel() {
  SetWait(Wait::kForRoom);
  host_.storage->Succeed(this);
  Release();
  Charge(0);
}

size_t OutputChannel::Room() {
  const uint64_t room = log_->Room();
  if (room == 0) {
    return 0;
  }
  uint64_t left = host_.quota->MakeRoom(this);
  if (MayDrop(log_->overflow())) {
    // A log that may drop its own data always has room for the least that it
    // keeps.
    left = std::max(left, OutputLogWriter::kMinRetained);
  }
  return std::min(room, left);
}

absl::StatusOr<size_t> OutputChannel::Move(size_t room) {
  return kind_ == wire::TERMINAL ? MoveFromTerminal(room)
                                 : log_->AppendFromPipe(source_.get(), room);
}

absl::StatusOr<size_t> OutputChannel::MoveFromTerminal(size_t room) {
  char buffer[16384];
  const char* data = unwritten_.data();
  size_t size = std::min(unwritten_.size(), room);
  if (size == 0) {
    const ssize_t got =
        ::read(source_.get(), buffer, std::min(sizeof(buffer), room));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return absl::UnavailableError("terminal is silent");
    }
    // EIO: the last descriptor of the other side was closed.
    if (got <= 0) {
      return 0;
    }
    data = buffer;
    size = static_cast<size_t>(got);
  }
  const absl::Status appended = log_->Append(data, size);
  if (!unwritten_.empty()) {
    RETURN_IF_ERROR(appended);
    unwritten_.erase(0, size);
  } else if (!appended.ok()) {
    // Bytes that were read from a terminal cannot go back: keep them for later.
    unwritten_.assign(data, size);
    return appended;
  }
  return size;
}

absl::StatusOr<size_t> OutputChannel::Discard() {
  // Only here a pipe is read: otherwise splice(2) moves its data, which never
  // waits.
  ::fcntl(source_.get(), F_SETFL, O_NONBLOCK);
  char buffer[16384];
  const ssize_t got = ::read(source_.get(), buffer, sizeof(buffer));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return absl::UnavailableError("nothing more was written");
  }
  if (got > 0) {
    loss_ = wire::ExitRecord::OUTPUT_LIMIT;
    MustKill(wire::ExitRecord::OUTPUT_LIMIT);
    return static_cast<size_t>(got);
  }
  return 0;
}

void OutputChannel::Pump() {
  size_t moved = 0;
  std::optional<Wait> wait;
  while (!closed() && moved < kTurn && !wait.has_value()) {
    wait = Step(&moved);
  }
  if (closed()) {
    return;  // changed() was called
  }
  // A full turn ends with a wait for data, whose event comes at once if more is
  // there.
  SetWait(wait.value_or(Wait::kForData));
  if (moved > 0) {
    callbacks_.changed();
  }
}

std::optional<OutputChannel::Wait> OutputChannel::Step(size_t* moved) {
  const size_t room = Room();
  const bool discard = room == 0 && log_->overflow() == Overflow::kKill;
  if (room == 0 && !discard) {
    return Wait::kForRoom;
  }
  const absl::StatusOr<size_t> now = discard ? Discard() : Move(room);
  if (closed()) {
    return std::nullopt;
  }
  if (absl::IsUnavailable(now.status())) {
    return Wait::kForData;
  }
  OnMoved(now);
  if (!now.ok()) {
    return Wait::kForDisk;
  }
  if (*now == 0) {
    Close();
    return std::nullopt;
  }
  *moved += *now;
  if (*now >= kFullPipe && !enlarged_ && kind_ != wire::TERMINAL) {
    // Not before: most commands print little, and this takes the kernel longer
    // than to make the pipe.
    enlarged_ = true;
    EnlargePipe(source_.get());
  }
  return std::nullopt;
}

void OutputChannel::OnMoved(const absl::StatusOr<size_t>& moved) {
  if (moved.ok()) {
    Account();
    if (failing_) {
      failing_ = false;
      host_.storage->Succeed(this);
    }
    return;
  }
  // The bytes stay in the pipe and hold the command back; none is lost.
  failing_ = true;
  host_.storage->Fail(this, "output", moved.status());
  if (log_->overflow() == Overflow::kKill) {
    MustKill(wire::ExitRecord::OUTPUT_FAILED);
  }
}

std::optional<wire::ExitRecord::Cause> OutputChannel::loss() const {
  return refused() ? wire::ExitRecord::OUTPUT_FAILED : loss_;
}

void OutputChannel::MustKill(wire::ExitRecord::Cause cause) {
  if (!killing_) {
    killing_ = true;
    callbacks_.must_kill(cause);
  }
}

void OutputChannel::SetWait(Wait wait) {
  if (wait == wait_ && wait != Wait::kForDisk) {
    return;
  }
  if (wait_ == Wait::kForData) {
    // Clearing the events is not enough: epoll always reports a hang-up.
    host_.loop->Unwatch(source_.get());
  }
  disk_retry_.Cancel();
  wait_ = wait;
  switch (wait) {
    case Wait::kForData:
      // Also after EPOLLHUP without EPOLLIN there may be data: the kernel looks
      // for it before it looks for writers.
      host_.loop->Watch(source_.get(), EPOLLIN, [this](uint32_t) { Pump(); });
      break;
    case Wait::kForRoom:
      break;
    case Wait::kForDisk:
      disk_retry_ = Timer(host_.timers, kDiskRetry, [this] { Pump(); });
      break;
  }
}

void OutputChannel::Account() {
  Charge(log_->disk_bytes());
  if (log_->unpunched() && !punch_retry_.pending()) {
    punch_retry_ = Timer(host_.timers, kDiskRetry, [this] {
      // If it fails again, Account() retries.
      (void)log_->Punch();
      Account();
    });
  }
}

void OutputChannel::Charge(uint64_t disk_bytes) {
  const auto change = static_cast<int64_t>(disk_bytes - charged_);
  charged_ = disk_bytes;
  host_.quota->Charge(change);
}

uint64_t OutputChannel::droppable_bytes() const {
  return log_.has_value() ? log_->droppable_bytes() : 0;
}

void OutputChannel::Trim(uint64_t bytes) {
  log_->Trim(bytes);
  Account();
  callbacks_.changed();
}

void OutputChannel::Resume() {
  if (wait_ == Wait::kForRoom && !closed() && log_->Room() > 0) {
    SetWait(Wait::kForData);
  }
}

wire::StreamState OutputChannel::state() const {
  if (!log_.has_value()) {
    return released_;
  }
  const OutputLogState& log = log_->state();
  wire::StreamState state;
  state.set_stream(kind_);
  state.set_begin(log.expired ? log.end : log.begin);
  state.set_end(log.end);
  state.set_gap_begin(log.gap_begin);
  state.set_gap_end(log.gap_end);
  state.set_closed(closed());
  state.set_expired(log.expired);
  return state;
}

void OutputChannel::Acknowledge(uint64_t offset) {
  if (!log_.has_value()) {
    return;
  }
  const uint64_t begin = log_->state().begin;
  log_->Acknowledge(offset);
  const bool dropped = log_->state().begin != begin;
  Account();
  if (log_->overflow() == Overflow::kBlock && log_->droppable_bytes() > 0) {
    host_.quota->OnDroppable();
  }
  Resume();
  if (dropped) {
    callbacks_.changed();
  }
}

void OutputChannel::Close() {
  if (closed()) {
    return;
  }
  // The input of a terminal has a copy of its descriptor.
  if (wait_ == Wait::kForData && kind_ != wire::TERMINAL) {
    wait_ = Wait::kForRoom;
    host_.loop->Close(std::move(source_));
  }
  SetWait(Wait::kForRoom);
  source_.Reset();
  if (failing_) {
    loss_ = wire::ExitRecord::OUTPUT_FAILED;
  }
  log_->Close();
  if (settled_) {
    Release();
  }
  host_.storage->Succeed(this);
  callbacks_.changed();
}

void OutputChannel::Settle() {
  settled_ = true;
  if (closed()) {
    Release();
  }
}

void OutputChannel::Release() {
  punch_retry_.Cancel();
  if (log_.has_value()) {
    released_ = state();
  }
  log_.reset();
  host_.quota->Remove(this);
}

bool OutputChannel::Expire(const std::string& execution) {
  if (closed()) {
    Release();
  }
  const absl::Status expired = ExpireOutputLog(execution, kind_);
  if (!expired.ok() && !absl::IsNotFound(expired)) {
    // Still charged: the data may still be on the disk.
    host_.storage->Fail(this, "expiry of output", expired);
    return false;
  }
  host_.storage->Succeed(this);
  if (closed()) {
    released_.set_begin(released_.end());
    released_.set_expired(true);
    Charge(0);
  } else {
    // Keeps writers running and discards their output.
    log_->Trim(0);
    Account();
    Resume();
  }
  callbacks_.changed();
  return true;
}

}  // namespace sandbox
