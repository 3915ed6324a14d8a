#include "bridge/cli/attachment.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::OutputEvent;

// Of OutputPolicy, for what the request leaves out.
constexpr uint64_t kDefaultRetainBytes = 64 << 20;
constexpr uint64_t kAcknowledgeBytes = 4 << 20;

const std::vector<int>& Signals() {
  static const auto* const signals =
      new std::vector<int>{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
  return *signals;
}

}  // namespace

Attachment::Attachment(client::Connection& connection,
                       const corral::v1::RunExecutionRequest& request,
                       DetachKeys detach_keys)
    : connection_(connection),
      has_terminal_(request.command().has_terminal()),
      has_input_(request.command().stdin() || has_terminal_),
      shared_(false),
      detach_keys_(std::move(detach_keys)),
      stream_(connection, request),
      control_(connection, [this] { Cancel(); }),
      catcher_(Signals(), [this](int signal) { OnSignal(signal); }) {
  Acknowledge(request.command().output());
  if (has_terminal_) {
    raw_terminal_.emplace();
  }
}

Attachment::Attachment(client::Connection& connection,
                       const corral::v1::StreamOutputRequest& request,
                       const corral::v1::Command& command,
                       DetachKeys detach_keys)
    : connection_(connection),
      has_terminal_(command.has_terminal()),
      has_input_(has_terminal_ && HasInput()),
      shared_(true),
      detach_keys_(std::move(detach_keys)),
      stream_(connection, request),
      control_(connection, [this] { Cancel(); }),
      catcher_(Signals(), [this](int signal) { OnSignal(signal); }) {
  Acknowledge(command.output());
  if (has_terminal_) {
    raw_terminal_.emplace();
  }
}

void Attachment::Acknowledge(const corral::v1::OutputPolicy& policy) {
  if (policy.overflow() != corral::v1::OutputPolicy::BLOCK) {
    return;
  }
  // The last half stays for those who attach later.
  const uint64_t retained =
      policy.has_retain_bytes() ? policy.retain_bytes() : kDefaultRetainBytes;
  stream_.AcknowledgeEvery(std::min(kAcknowledgeBytes, retained / 4),
                           retained / 2);
}

void Attachment::OnSignal(int signal) {
  if (signal != SIGWINCH && shared_) {
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
  stream_.Cancel();
  writer_.Cancel();
}

absl::StatusOr<Execution> Attachment::Run() {
  absl::StatusOr<Execution> ended = Follow();
  write_status_.Update(writer_.Finish());
  return ended;
}

absl::StatusOr<Execution> Attachment::Follow() {
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<OutputEvent> event, stream_.Next());
    if (!event.has_value()) {
      return absl::InternalError("the stream ended before the command");
    }
    if (event->has_ended()) {
      return event->ended();
    }
    OnEvent(*event);
    if (shared_) {
      RETURN_IF_ERROR(write_status_);
    }
  }
}

void Attachment::OnEvent(const OutputEvent& event) {
  if (event.has_opened()) {
    Open(event.opened());
  } else if (write_status_.ok()) {
    Write(event);
    if (!write_status_.ok() && !absl::IsCancelled(write_status_) && !shared_) {
      control_.Kill();
    }
  }
}

void Attachment::Write(const OutputEvent& event) {
  write_status_ = writer_.Write(event, absl::Now());
  if (!replay_end_.has_value()) {
    return;
  }
  replay_guard_.OnReplay(event.chunk().data());
  const auto cursor = stream_.cursors().find(corral::v1::TERMINAL);
  if (cursor != stream_.cursors().end() && cursor->second >= *replay_end_) {
    replay_end_.reset();
    write_status_.Update(
        writer_.WriteOutput(replay_guard_.OnReplayEnd(absl::Now())));
  }
}

void Attachment::BeginReplay(const Execution& opened) {
  for (const corral::v1::StreamState& state : opened.streams()) {
    const auto cursor = stream_.cursors().find(state.stream());
    if (has_terminal_ && cursor != stream_.cursors().end() &&
        cursor->second < state.end_offset()) {
      replay_end_ = state.end_offset();
    }
  }
}

void Attachment::Open(const Execution& opened) {
  name_ = opened.name();
  control_.SetExecution(name_);
  if (opened.state() != Execution::RUNNING) {
    return;
  }
  if (shared_ && IsInteractive()) {
    BeginReplay(opened);
    OnSignal(SIGWINCH);
  }
  if (has_input_) {
    InputForwarder::Options options;
    options.terminal = has_terminal_;
    options.pass_end = !shared_;
    options.accepted_offset = opened.input().accepted_offset();
    input_ = std::make_unique<InputForwarder>(
        connection_, name_, options,
        [this, guarded = replay_end_.has_value()](const std::string& typed) {
          return FilterInput(guarded ? replay_guard_.Filter(typed, absl::Now())
                                     : typed);
        });
  }
}

InputForwarder::Passed Attachment::FilterInput(const std::string& typed) {
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
