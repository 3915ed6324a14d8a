#include "bridge/acp/relay.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace bridge {
namespace {

constexpr size_t kReadBytes = 64 << 10;
// The time from the closing of the agent's input to SIGTERM, and from there to
// SIGKILL.
constexpr absl::Duration kGrace = absl::Seconds(2);
// How long the relay still reads the output of an agent that has ended, if a
// descendant holds it open.
constexpr absl::Duration kDrain = absl::Seconds(1);
// How long a client that has closed its side may take to read the rest.
constexpr absl::Duration kFlush = absl::Seconds(5);
// How long the server may take to delete the sandboxes.
constexpr absl::Duration kDelete = absl::Seconds(3);

// Above this size of the client's queue, output of commands is not shown.
constexpr size_t kMaxShownBytes = 4 << 20;

// The order in which Watch() fills the descriptors.
enum PollIndex {
  kTermination,
  kAgentEnd,
  kClientInput,
  kAgentOutput,
  kClientOutput,
  kAgentInput,
};

// Returns an empty text if there is nothing to read now, and nothing at the end
// of the stream.
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
            if (client_ != ClientSide::kAbandoned) {
              to_client_.Push(std::move(line));
            }
          },
          [this](std::string line) {
            if (agent_.input() >= 0) {
              to_agent_.Push(std::move(line));
            }
          },
          [this] { return to_client_.size() < kMaxShownBytes; }) {}

int Relay::Run() {
  std::vector<pollfd> polls;
  while (!IsDone()) {
    Watch(polls);
    loop_->RunOnce(polls);
    React(polls);
    Write();
  }
  bridge_.RecordUnfinished();
  return agent_status_;
}

bool Relay::IsDone() const {
  return to_client_.empty() && (phase_ == RelayPhase::kLeaving ||
                                (phase_ == RelayPhase::kFlushing &&
                                 bridge_.idle() && !bridge_.IsAwaitingEnds()));
}

void Relay::Watch(std::vector<pollfd>& polls) {
  const bool client_is_open = client_ == ClientSide::kOpen;
  const bool agent_lives =
      phase_ == RelayPhase::kRunning || phase_ == RelayPhase::kClosing;
  const auto poll = [](bool wanted, int fd, short events) {
    return pollfd{wanted ? fd : -1, events, 0};
  };
  polls = {poll(client_is_open, descriptors_.termination, POLLIN),
           poll(agent_lives, agent_.ended(), POLLIN),
           poll(ReadsClient(client_, to_agent_.size()),
                descriptors_.client_input, POLLIN),
           poll(ReadsAgent(phase_, to_agent_.size(), to_client_.size()),
                agent_.output(), POLLIN),
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
  if (polls[kTermination].revents != 0) {
    EndClient(ClientSide::kEnded);
  }
  if (polls[kAgentEnd].revents != 0) {
    Apply(RelayEvent::kAgentEnded);
  }
}

void Relay::Write() {
  if (!to_client_.empty()) {
    WriteClient();
  }
  if (!to_agent_.empty()) {
    WriteAgent();
  }
  if (phase_ == RelayPhase::kClosing && to_agent_.empty()) {
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
    EndClient(ClientSide::kEnded);
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
    EndClient(ClientSide::kAbandoned);
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

void Relay::EndClient(ClientSide side) {
  const bool was_open = client_ == ClientSide::kOpen;
  const bool has_flushing_begun =
      phase_ == RelayPhase::kFlushing || phase_ == RelayPhase::kLeaving;
  client_ = std::max(client_, side);
  if (client_ == ClientSide::kAbandoned) {
    to_client_.Clear();
  }
  if (was_open && has_flushing_begun) {
    LimitFlush();
  }
  Apply(RelayEvent::kClientEnded);
}

void Relay::EndAgentOutput() {
  if (auto last = from_agent_.Finish()) {
    bridge_.OnAgentLine(std::move(last->text));
  }
  agent_.CloseOutput();
  Apply(RelayEvent::kAgentSilent);
}

void Relay::Apply(RelayEvent event) {
  const RelayPhase before = phase_;
  phase_ =
      NextPhase(phase_, event,
                agent_.output() < 0 ? AgentOutput::kEnded : AgentOutput::kOpen);
  if (phase_ == before) {
    return;
  }
  switch (phase_) {
    case RelayPhase::kRunning:
      break;
    case RelayPhase::kClosing:
      BeginClosing();
      break;
    case RelayPhase::kDraining:
      BeginDraining();
      break;
    case RelayPhase::kFlushing:
      BeginFlushing();
      break;
    case RelayPhase::kLeaving:
      break;
  }
}

void Relay::BeginClosing() {
  Later(kGrace, [this] {
    agent_.Terminate();
    bridge_.Close();
  });
  Later(2 * kGrace, [this] { agent_.Kill(); });
}

void Relay::BeginDraining() {
  agent_.CloseInput();
  to_agent_.Clear();
  Later(kDrain, [this] { EndAgentOutput(); });
}

void Relay::BeginFlushing() {
  agent_.CloseInput();
  to_agent_.Clear();
  agent_status_ = agent_.Finish();
  bridge_.OnAgentEnd();
  Later(kDelete, [this] { Apply(RelayEvent::kServerSilent); });
  if (client_ != ClientSide::kOpen) {
    LimitFlush();
  }
}

void Relay::LimitFlush() {
  loop_->After(kFlush, [this] { EndClient(ClientSide::kAbandoned); });
}

}  // namespace bridge
