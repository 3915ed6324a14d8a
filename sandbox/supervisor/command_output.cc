#include "sandbox/supervisor/command_output.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/pty.h"

namespace sandbox {
namespace {

// The delay between looks at a stream that waits for room or for the disk.
constexpr absl::Duration kBlockedRetry = absl::Milliseconds(50);
constexpr absl::Duration kExpireRetry = absl::Milliseconds(200);

uint64_t NowMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

CommandOutput::CommandOutput(const OutputHost& host,
                             const ExecutionFiles* files, Callbacks callbacks)
    : host_(host), files_(files), callbacks_(std::move(callbacks)) {}

CommandOutput::~CommandOutput() { host_.quota->RemoveEnded(this); }

void CommandOutput::Add(wire::Stream kind, UniqueFd source,
                        OutputLogWriter log) {
  channels_.push_back(std::make_unique<OutputChannel>(
      host_, kind, std::move(source), std::move(log),
      OutputChannel::Callbacks{[this] { OnChanged(); }, callbacks_.must_kill}));
}

void CommandOutput::NoteStart(int64_t start_time_ns) {
  channels_.front()->NoteStart(start_time_ns);
  if (channels_.front()->kind() == wire::TERMINAL) {
    times_.emplace(absl::StrCat(files_->path(), kTerminalTimes), NowMillis());
  }
}

void CommandOutput::Drain(absl::Duration limit) {
  drain_limit_ = limit;
  Enter(State::kDraining);
  Pump();
  if (state_ == State::kDraining && closed()) {
    // The command closed its output before it exited.
    Enter(State::kClosed);
  }
}

void CommandOutput::OnChanged() {
  if (times_.has_value()) {
    times_->OnOutput(channels_.front()->state().end(), NowMillis());
  }
  callbacks_.changed();
  const bool draining = state_ == State::kDraining ||
                        state_ == State::kOverdue || state_ == State::kLeftOpen;
  if (draining && closed()) {
    Enter(State::kClosed);
  }
}

void CommandOutput::OnDrainLimit() {
  // Bytes that waited for room until now may be the command's own.
  Pump();
  if (state_ == State::kClosed) {
    return;
  }
  const bool blocked = std::any_of(
      channels_.begin(), channels_.end(), [this](const auto& channel) {
        return channel->blocked() && !(ignore_disk_ && channel->refused());
      });
  Enter(blocked ? State::kOverdue : State::kLeftOpen);
}

void CommandOutput::IgnoreDisk() {
  ignore_disk_ = true;
  if (state_ == State::kOverdue) {
    OnDrainLimit();
  }
}

void CommandOutput::Enter(State next) {
  state_ = next;
  drain_timer_.Cancel();
  switch (next) {
    case State::kOpen:
      LOG(FATAL) << "output is open from the start";
      break;
    case State::kDraining:
      drain_timer_ =
          Timer(host_.timers, drain_limit_, [this] { OnDrainLimit(); });
      break;
    case State::kOverdue:
      drain_timer_ = Timer(host_.timers, std::max(drain_limit_, kBlockedRetry),
                           [this] { OnDrainLimit(); });
      break;
    case State::kLeftOpen:
      callbacks_.drained(/*left_open=*/true);
      break;
    case State::kClosed:
      callbacks_.drained(/*left_open=*/false);
      break;
  }
}

void CommandOutput::Discard() {
  Pump();
  Close();
}

void CommandOutput::Pump() {
  for (const auto& channel : channels_) {
    channel->Pump();
  }
}

void CommandOutput::Close() {
  for (const auto& channel : channels_) {
    channel->Close();
  }
}

bool CommandOutput::closed() const {
  return std::all_of(channels_.begin(), channels_.end(),
                     [](const auto& channel) { return channel->closed(); });
}

void CommandOutput::AddStates(
    google::protobuf::RepeatedPtrField<wire::StreamState>* states) const {
  for (const auto& channel : channels_) {
    *states->Add() = channel->state();
  }
}

bool CommandOutput::refused() const {
  return std::any_of(channels_.begin(), channels_.end(),
                     [](const auto& channel) { return channel->refused(); });
}

std::optional<wire::ExitRecord::Cause> CommandOutput::loss() const {
  for (const auto& channel : channels_) {
    if (const auto loss = channel->loss(); loss.has_value()) {
      return loss;
    }
  }
  return std::nullopt;
}

absl::StatusOr<int> CommandOutput::terminal() const {
  for (const auto& channel : channels_) {
    if (channel->kind() == wire::TERMINAL && !channel->closed()) {
      return channel->source();
    }
  }
  return MakeFailure(wire::Reply::NOT_A_TERMINAL,
                     "the execution has no terminal, or it is closed");
}

absl::Status CommandOutput::ResizeTerminal(uint32_t rows, uint32_t columns) {
  ASSIGN_OR_RETURN(const int master, terminal());
  RETURN_IF_ERROR(ResizePty(master, rows, columns));
  if (times_.has_value()) {
    times_->OnResize(rows, columns, NowMillis());
  }
  return absl::OkStatus();
}

void CommandOutput::Acknowledge(wire::Stream kind, uint64_t offset) {
  for (const auto& channel : channels_) {
    if (channel->kind() == kind) {
      channel->Acknowledge(offset);
    }
  }
}

void CommandOutput::Settle() {
  for (const auto& channel : channels_) {
    channel->Settle();
  }
  host_.quota->AddEnded(this, [this] { Expire(); });
}

bool CommandOutput::released() const {
  return !expire_retry_.pending() &&
         std::all_of(channels_.begin(), channels_.end(),
                     [](const auto& channel) { return channel->released(); });
}

uint64_t CommandOutput::charged() const {
  uint64_t sum = 0;
  for (const auto& channel : channels_) {
    sum += channel->charged();
  }
  return sum;
}

void CommandOutput::Expire() {
  bool expired = true;
  for (const auto& channel : channels_) {
    expired = channel->Expire(files_->path()) && expired;
  }
  if (times_.has_value()) {
    times_->Expire();
  }
  if (!expired) {
    expire_retry_ = Timer(host_.timers, kExpireRetry, [this] { Expire(); });
  }
}

}  // namespace sandbox
