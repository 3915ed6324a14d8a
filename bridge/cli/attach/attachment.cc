#include "bridge/cli/attach/attachment.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::OutputEvent;

// OutputPolicy.retain_bytes of a request that leaves it out.
constexpr uint64_t kDefaultRetainBytes = 64 << 20;
constexpr uint64_t kAcknowledgeBytes = 4 << 20;

const std::vector<int>& Signals() {
  static const auto* const signals =
      new std::vector<int>{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
  return *signals;
}

std::optional<InputForwarder::Target> OwnInput(
    const corral::v1::Command& command) {
  if (command.has_terminal()) {
    return InputForwarder::Target::kTerminal;
  }
  return command.stdin() ? std::make_optional(InputForwarder::Target::kPipe)
                         : std::nullopt;
}

std::optional<InputForwarder::Target> SharedInput(
    const corral::v1::Command& command) {
  return command.has_terminal() && HasInput()
             ? std::make_optional(InputForwarder::Target::kSharedTerminal)
             : std::nullopt;
}

}  // namespace

Attachment::Attachment(client::Connection& connection,
                       const corral::v1::RunExecutionRequest& request,
                       DetachKeys detach_keys)
    : connection_(connection),
      owner_(Owner::kThisProcess),
      has_terminal_(request.command().has_terminal()),
      input_target_(OwnInput(request.command())),
      detach_keys_(std::move(detach_keys)),
      replay_guard_(connection.timing().terminal_answer),
      reader_(connection, request),
      control_(connection, [this] { Cancel(); }),
      catcher_(Signals(), [this](int signal) { OnSignal(signal); }) {
  Prepare(request.command().output());
}

Attachment::Attachment(client::Connection& connection,
                       const corral::v1::StreamOutputRequest& request,
                       const corral::v1::Command& command, Questions questions,
                       DetachKeys detach_keys)
    : connection_(connection),
      owner_(Owner::kShared),
      has_terminal_(command.has_terminal()),
      input_target_(SharedInput(command)),
      detach_keys_(std::move(detach_keys)),
      replay_guard_(connection.timing().terminal_answer),
      reader_(connection, request),
      control_(connection, [this] { Cancel(); }),
      catcher_(Signals(), [this](int signal) { OnSignal(signal); }) {
  if (questions == Questions::kAnsweredElsewhere) {
    question_filter_.emplace();
  }
  Prepare(command.output());
}

void Attachment::Prepare(const corral::v1::OutputPolicy& policy) {
  if (policy.overflow() == corral::v1::OutputPolicy::BLOCK) {
    // Keeps the last half of the output for clients that attach later.
    const uint64_t retained =
        policy.has_retain_bytes() ? policy.retain_bytes() : kDefaultRetainBytes;
    reader_.AcknowledgeEvery(std::min(kAcknowledgeBytes, retained / 4),
                             retained / 2);
  }
  if (has_terminal_) {
    raw_terminal_.emplace();
  }
}

void Attachment::OnSignal(int signal) {
  if (signal != SIGWINCH && owner_ == Owner::kShared) {
    Detach();
  } else if (signal != SIGWINCH || has_terminal_) {
    control_.Forward(signal);
  }
}

void Attachment::Detach() {
  detached_ = true;
  Cancel();
}

void Attachment::Cancel() {
  reader_.Cancel();
  writer_.Cancel();
}

absl::StatusOr<Execution> Attachment::Run() {
  absl::StatusOr<Execution> ended = Follow();
  write_status_.Update(writer_.Finish());
  return ended;
}

absl::StatusOr<Execution> Attachment::Follow() {
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<OutputEvent> event, reader_.Next());
    if (!event.has_value()) {
      return absl::InternalError("the stream ended before the command");
    }
    if (event->has_ended()) {
      return event->ended();
    }
    OnEvent(*event);
    if (owner_ == Owner::kShared) {
      RETURN_IF_ERROR(write_status_);
    }
  }
}

void Attachment::OnEvent(const OutputEvent& event) {
  if (event.has_opened()) {
    Open(event.opened());
  } else if (write_status_.ok()) {
    Write(event);
    if (!write_status_.ok() && !absl::IsCancelled(write_status_) &&
        owner_ == Owner::kThisProcess) {
      control_.Kill();
    }
  }
}

void Attachment::Write(OutputEvent event) {
  if (question_filter_.has_value() && event.has_chunk()) {
    event.mutable_chunk()->set_data(
        question_filter_->Filter(event.chunk().data()));
  }
  write_status_ = writer_.Write(event, absl::Now());
  if (!replay_end_.has_value()) {
    return;
  }
  replay_guard_.OnReplay(event.chunk().data());
  const auto cursor = reader_.cursors().find(corral::v1::TERMINAL);
  if (cursor != reader_.cursors().end() && cursor->second >= *replay_end_) {
    replay_end_.reset();
    write_status_.Update(
        writer_.WriteOutput(replay_guard_.OnReplayEnd(absl::Now())));
  }
}

void Attachment::BeginReplay(const Execution& opened) {
  for (const corral::v1::StreamState& state : opened.streams()) {
    const auto cursor = reader_.cursors().find(state.stream());
    if (has_terminal_ && cursor != reader_.cursors().end() &&
        cursor->second < state.end_offset()) {
      replay_end_ = state.end_offset();
    }
  }
}

void Attachment::Open(const Execution& opened) {
  name_ = opened.name();
  control_.SetExecution(name_);
  opened_(name_);
  if (opened.state() != Execution::RUNNING) {
    return;
  }
  if (owner_ == Owner::kShared && IsInteractive()) {
    BeginReplay(opened);
    OnSignal(SIGWINCH);
  }
  if (input_target_.has_value()) {
    ForwardInput(opened.input().accepted_offset());
  }
}

void Attachment::ForwardInput(uint64_t accepted_offset) {
  const bool guarded = replay_end_.has_value();
  input_ = std::make_unique<InputForwarder>(
      connection_, name_, *input_target_, accepted_offset,
      [this, guarded](const std::string& typed) {
        return FilterInput(guarded ? replay_guard_.Filter(typed, absl::Now())
                                   : typed);
      });
}

InputForwarder::Filtered Attachment::FilterInput(const std::string& typed) {
  if (!has_terminal_) {
    return {typed};
  }
  std::string passed = detach_keys_.Filter(typed);
  if (!detach_keys_.found()) {
    return {std::move(passed)};
  }
  return {std::move(passed), [this] { Detach(); }};
}

}  // namespace bridge
