#include "bridge/acp/relay.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace bridge {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kMaxQueueBytes = 64 << 20;
// From the closing of the agent's input to SIGTERM, and from there to SIGKILL.
constexpr absl::Duration kGrace = absl::Seconds(2);
// How long a descendant of the agent may hold its output open, until it is
// killed and until it is given up, if it left the process group.
constexpr absl::Duration kDrain = absl::Seconds(1);
// How long a client that has closed its side may take to read the rest.
constexpr absl::Duration kFlush = absl::Seconds(5);

// The order of what Watch() fills.
enum PollIndex {
  kTermination,
  kAgentEnd,
  kClientInput,
  kAgentOutput,
  kClientOutput,
  kAgentInput,
};

// Empty: nothing now. Nothing: the end of the stream.
std::optional<absl::string_view> Read(int fd, char* buffer) {
  const ssize_t size = ::read(fd, buffer, kReadBytes);
  if (size > 0) {
    return absl::string_view(buffer, size);
  }
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) {
    return absl::string_view();
  }
  return std::nullopt;
}

}  // namespace

Relay::Relay(PollLoop* loop, BridgeOptions options, AgentProcess agent,
             Descriptors descriptors)
    : loop_(loop),
      agent_(std::move(agent)),
      descriptors_(descriptors),
      bridge_(
          loop, std::move(options),
          [this](std::string line) {
            if (!client_abandoned_) {
              to_client_.Push(std::move(line));
            }
          },
          [this](std::string line) {
            if (agent_.input() >= 0) {
              to_agent_.Push(std::move(line));
            }
          }) {}

int Relay::Run() {
  std::vector<pollfd> polls;
  while (!IsDone()) {
    Watch(polls);
    loop_->RunOnce(polls);
    React(polls);
  }
  return agent_status_;
}

bool Relay::IsDone() const {
  return phase_ == Phase::kFlushing && to_client_.empty() && bridge_.idle();
}

void Relay::Watch(std::vector<pollfd>& polls) {
  const bool has_room = to_agent_.size() < kMaxQueueBytes;
  const bool reads_client = !client_ended_ && has_room;
  const bool reads_agent = phase_ == Phase::kDraining ||
                           (has_room && to_client_.size() < kMaxQueueBytes);
  const bool agent_lives =
      phase_ == Phase::kRunning || phase_ == Phase::kClosing;
  const auto poll = [](bool wanted, int fd, short events) {
    return pollfd{wanted ? fd : -1, events, 0};
  };
  polls = {poll(!client_ended_, descriptors_.termination, POLLIN),
           poll(agent_lives, agent_.pidfd(), POLLIN),
           poll(reads_client, descriptors_.client_input, POLLIN),
           poll(reads_agent, agent_.output(), POLLIN),
           poll(!to_client_.empty(), descriptors_.client_output, POLLOUT),
           poll(!to_agent_.empty(), agent_.input(), POLLOUT)};
}

void Relay::React(const std::vector<pollfd>& polls) {
  if (polls[kClientInput].revents != 0) {
    ReadClient();
  }
  if (polls[kAgentOutput].revents != 0) {
    ReadAgent();
  }
  if (polls[kClientOutput].revents != 0) {
    WriteClient();
  }
  if (polls[kAgentInput].revents != 0) {
    WriteAgent();
  }
  if (polls[kTermination].revents != 0) {
    EndClient();
  }
  if (polls[kAgentEnd].revents != 0) {
    OnAgentExit();
  }
  if (phase_ == Phase::kClosing && to_agent_.empty()) {
    agent_.CloseInput();
  }
}

void Relay::ReadClient() {
  char buffer[kReadBytes];
  const auto bytes = Read(descriptors_.client_input, buffer);
  if (!bytes.has_value()) {
    if (auto last = from_client_.Finish()) {
      bridge_.OnClientLine(std::move(last->text));
    }
    EndClient();
    return;
  }
  from_client_.Append(*bytes);
  while (auto line = from_client_.Next()) {
    if (line->too_long) {
      bridge_.OnLongClientLine();
    } else {
      bridge_.OnClientLine(std::move(line->text));
    }
  }
}

void Relay::ReadAgent() {
  if (agent_.output() < 0) {
    return;
  }
  char buffer[kReadBytes];
  const auto bytes = Read(agent_.output(), buffer);
  if (!bytes.has_value()) {
    EndAgentOutput();
    return;
  }
  from_agent_.Append(*bytes);
  while (auto line = from_agent_.Next()) {
    if (line->too_long) {
      bridge_.OnLongAgentLine();
    } else {
      bridge_.OnAgentLine(std::move(line->text));
    }
  }
}

void Relay::WriteClient() {
  if (const auto written = to_client_.WriteTo(descriptors_.client_output);
      !written.ok()) {
    client_abandoned_ = true;
    to_client_.Clear();
    EndClient();
  }
}

void Relay::WriteAgent() {
  if (agent_.input() >= 0 && !to_agent_.WriteTo(agent_.input()).ok()) {
    agent_.CloseInput();
    to_agent_.Clear();
  }
}

void Relay::Later(absl::Duration delay, PollLoop::Action action) {
  loop_->After(delay,
               [this, phase = phase_, action = std::move(action)]() mutable {
                 if (phase_ == phase) {
                   action();
                 }
               });
}

void Relay::EndClient() {
  client_ended_ = true;
  if (phase_ == Phase::kFlushing) {
    LimitFlush();
  }
  if (phase_ != Phase::kRunning) {
    return;
  }
  phase_ = Phase::kClosing;
  Later(kGrace, [this] {
    agent_.SignalGroup(SIGTERM);
    bridge_.Close();
  });
  Later(2 * kGrace, [this] { agent_.SignalGroup(SIGKILL); });
}

void Relay::OnAgentExit() {
  phase_ = Phase::kDraining;
  agent_.CloseInput();
  to_agent_.Clear();
  if (agent_.output() < 0) {
    BeginFlushing();
    return;
  }
  Later(kDrain, [this] { agent_.SignalGroup(SIGKILL); });
  Later(2 * kDrain, [this] { EndAgentOutput(); });
}

void Relay::EndAgentOutput() {
  if (auto last = from_agent_.Finish()) {
    bridge_.OnAgentLine(std::move(last->text));
  }
  agent_.CloseOutput();
  if (phase_ == Phase::kDraining) {
    BeginFlushing();
  }
}

void Relay::BeginFlushing() {
  phase_ = Phase::kFlushing;
  agent_.SignalGroup(SIGKILL);
  agent_status_ = agent_.Reap();
  bridge_.Close();
  if (client_ended_) {
    LimitFlush();
  }
}

void Relay::LimitFlush() {
  Later(kFlush, [this] {
    client_abandoned_ = true;
    to_client_.Clear();
  });
}

}  // namespace bridge
