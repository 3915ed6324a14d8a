#include "sandbox/supervisor/output_channel.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

// What one turn moves at most: others' turns come after it.
constexpr size_t kTurn = size_t{1} << 20;
constexpr absl::Duration kDiskRetry = absl::Milliseconds(200);

}  // namespace

OutputChannel::OutputChannel(EventLoop* loop, wire::Stream kind,
                             UniqueFd source, OutputLogWriter log,
                             std::function<void()> changed)
    : loop_(loop),
      kind_(kind),
      source_(std::move(source)),
      log_(std::move(log)),
      changed_(std::move(changed)) {
  SetWait(Wait::kForData);
}

OutputChannel::~OutputChannel() { SetWait(Wait::kForRoom); }

absl::StatusOr<size_t> OutputChannel::Move() {
  if (kind_ != wire::TERMINAL) {
    return log_->AppendFromPipe(source_.get());
  }
  char buffer[16384];
  const ssize_t got =
      ::read(source_.get(), buffer, std::min(sizeof(buffer), log_->Room()));
  if (got < 0 && errno == EAGAIN) {
    return absl::UnavailableError("terminal is silent");
  }
  // EIO: the last descriptor of the other side was closed.
  if (got <= 0) {
    return 0;
  }
  RETURN_IF_ERROR(log_->Append(buffer, static_cast<size_t>(got)));
  return static_cast<size_t>(got);
}

void OutputChannel::Pump() {
  size_t moved = 0;
  while (!closed() && moved < kTurn) {
    if (log_->Room() == 0) {
      SetWait(Wait::kForRoom);
      break;
    }
    const absl::StatusOr<size_t> now = Move();
    if (now.ok() && *now == 0) {
      Close();
      return;
    }
    if (absl::IsUnavailable(now.status())) {
      SetWait(Wait::kForData);
      break;
    }
    if (!now.ok()) {
      // The bytes stay in the pipe and hold the command back; none is lost.
      LOG(ERROR) << "output log: " << now.status().ToString();
      SetWait(Wait::kForDisk);
      break;
    }
    moved += *now;
  }
  if (moved > 0) {
    changed_();
  }
}

void OutputChannel::SetWait(Wait wait) {
  if (wait == wait_) {
    return;
  }
  if (wait_ == Wait::kForData) {
    // Not just no events: a hang-up would be reported all the time.
    loop_->Unwatch(source_.get());
  }
  if (retry_.has_value()) {
    loop_->Cancel(*retry_);
    retry_.reset();
  }
  wait_ = wait;
  switch (wait) {
    case Wait::kForData:
      loop_->Watch(source_.get(), EPOLLIN, [this](uint32_t) { Pump(); });
      break;
    case Wait::kForRoom:
      break;
    case Wait::kForDisk:
      retry_ = loop_->After(kDiskRetry, [this] {
        retry_.reset();
        SetWait(Wait::kForData);
      });
      break;
  }
}

void OutputChannel::Acknowledge(uint64_t offset) {
  if (closed()) {
    return;
  }
  log_->Acknowledge(offset);
  if (wait_ == Wait::kForRoom && log_->Room() > 0) {
    SetWait(Wait::kForData);
  }
}

void OutputChannel::Close() {
  if (closed()) {
    return;
  }
  SetWait(Wait::kForRoom);
  source_.Reset();
  log_->Close();
  log_.reset();
  changed_();
}

}  // namespace sandbox
