#include "bridge/cli/attach/execution_control.h"

#include <signal.h>

#include <utility>

#include "absl/time/time.h"
#include "bridge/cli/attach/terminal.h"
#include "bridge/client/call.h"
#include "bridge/client/error_details.h"
#include "bridge/client/retry.h"

namespace bridge {
namespace {

using sandbox::MutexLock;

// The limit of one attempt, and of all attempts while the server is gone.
constexpr absl::Duration kCallTimeout = absl::Seconds(2);
constexpr absl::Duration kImpatience = absl::Seconds(2);
constexpr size_t kInterruptsToKill = 3;
constexpr int kLateSignalsToGiveUp = 2;

// Returns short limits, because the user waits for the effect of a key.
client::CallOptions Impatient() {
  client::CallOptions options;
  options.patience = kCallTimeout;
  options.timeout = kCallTimeout;
  return options;
}

}  // namespace

ExecutionControl::ExecutionControl(client::Connection& connection,
                                   std::function<void()> give_up,
                                   std::function<absl::Time()> now)
    : connection_(connection),
      give_up_(std::move(give_up)),
      now_(std::move(now)) {}

void ExecutionControl::SetExecution(const std::string& name) {
  MutexLock lock(&mutex_);
  name_ = name;
}

int ExecutionControl::undelivered_signal() {
  MutexLock lock(&mutex_);
  return undelivered_signal_;
}

int ExecutionControl::Escalate(int signal) {
  if (signal != SIGINT) {
    return signal;
  }
  const absl::Time now = now_();
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
  }
  if (signal == SIGWINCH) {
    Resize(name);
  } else if (name.empty() || !Send(name, signal)) {
    {
      MutexLock lock(&mutex_);
      undelivered_signal_ =
          undelivered_signal_ == 0 ? signal : undelivered_signal_;
    }
    give_up_();
  }
}

void ExecutionControl::Resize(const std::string& name) {
  corral::v1::ResizeTerminalRequest request;
  request.set_name(name);
  *request.mutable_size() = GetTerminalSize();
  // Errors do not matter: a command that has not begun, has ended or has no
  // terminal needs no size.
  client::Repeat(
      connection_,
      [&](grpc::ClientContext& context) {
        google::protobuf::Empty empty;
        return connection_.executions().ResizeTerminal(&context, request,
                                                       &empty);
      },
      Impatient());
}

bool ExecutionControl::Send(const std::string& name, int signal) {
  corral::v1::SignalExecutionRequest request;
  request.set_name(name);
  request.set_signal(signal);
  request.set_scope(corral::v1::SignalExecutionRequest::TREE);
  const grpc::Status status = client::Repeat(
      connection_,
      [&](grpc::ClientContext& context) {
        google::protobuf::Empty empty;
        return connection_.executions().SignalExecution(&context, request,
                                                        &empty);
      },
      Impatient());
  if (client::GetErrorReason(status) == corral::v1::EXECUTION_ENDED) {
    // The end is about to arrive, or waits for output that cannot be written.
    MutexLock lock(&mutex_);
    return ++late_signals_ < kLateSignalsToGiveUp;
  }
  // Other errors mean that no process is left.
  return status.error_code() != grpc::StatusCode::UNAVAILABLE;
}

}  // namespace bridge
