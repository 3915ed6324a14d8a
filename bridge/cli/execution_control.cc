#include "bridge/cli/execution_control.h"

#include <signal.h>

#include <utility>

#include "absl/time/clock.h"
#include "bridge/cli/terminal.h"

namespace bridge {
namespace {

using sandbox::MutexLock;

constexpr absl::Duration kCallTimeout = absl::Seconds(2);
constexpr absl::Duration kImpatience = absl::Seconds(2);
constexpr size_t kInterruptsToKill = 3;

}  // namespace

ExecutionControl::ExecutionControl(client::Connection& connection,
                                   std::function<void()> give_up)
    : connection_(connection), give_up_(std::move(give_up)) {}

void ExecutionControl::SetExecution(const std::string& name) {
  std::vector<int> pending;
  {
    MutexLock lock(&mutex_);
    name_ = name;
    pending.swap(pending_);
  }
  for (const int signal : pending) {
    Send(name, signal);
  }
}

int ExecutionControl::Escalate(int signal) {
  if (signal != SIGINT) {
    return signal;
  }
  const absl::Time now = absl::Now();
  interrupts_.push_back(now);
  const size_t count = interrupts_.size();
  const bool impatient =
      count >= kInterruptsToKill &&
      now - interrupts_[count - kInterruptsToKill] <= kImpatience;
  return impatient ? SIGKILL : SIGINT;
}

void ExecutionControl::Forward(int signal) {
  std::string name;
  {
    MutexLock lock(&mutex_);
    signal = Escalate(signal);
    name = name_;
    if (name.empty() && signal != SIGKILL && signal != SIGWINCH) {
      pending_.push_back(signal);
    }
  }
  if (!name.empty()) {
    Send(name, signal);
  } else if (signal == SIGKILL) {
    give_up_();
  }
}

void ExecutionControl::Kill() {
  std::string name;
  {
    MutexLock lock(&mutex_);
    name = name_;
  }
  Send(name, SIGKILL);
}

void ExecutionControl::Send(const std::string& name, int signal) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTimeout));
  google::protobuf::Empty empty;
  if (signal == SIGWINCH) {
    corral::v1::ResizeTerminalRequest request;
    request.set_name(name);
    *request.mutable_size() = GetTerminalSize();
    // A command that has ended, or has no terminal, needs no size.
    connection_.executions().ResizeTerminal(&context, request, &empty);
    return;
  }
  corral::v1::SignalExecutionRequest request;
  request.set_name(name);
  request.set_signal(signal);
  request.set_scope(corral::v1::SignalExecutionRequest::TREE);
  const grpc::Status status =
      connection_.executions().SignalExecution(&context, request, &empty);
  const bool unreachable =
      status.error_code() == grpc::StatusCode::UNAVAILABLE ||
      status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  if (unreachable && signal == SIGKILL) {
    give_up_();
  }
}

}  // namespace bridge
