// What can be asked of an execution.

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/pty.h"
#include "sandbox/supervisor/execution.h"

namespace sandbox {

bool Execution::Concerns(const wire::Signal& signal) const {
  if (!reaped_) {
    return record_.state() != wire::ExecutionRecord::FAILED_TO_START;
  }
  if (signal.scope() != wire::Signal::TREE) {
    return false;
  }
  const bool kills = signal.signal() == SIGKILL || signal.kill_after_ns() >= 0;
  return !cgroup_.Pids().empty() || (kills && !ended() && DiskHoldsBack());
}

absl::Status Execution::Signal(const wire::Signal& signal) {
  if (!Concerns(signal)) {
    return MakeFailure(wire::Reply::EXECUTION_ENDED,
                       "nothing of it runs any more");
  }
  if (signal.scope() == wire::Signal::FOREGROUND_GROUP) {
    RETURN_IF_ERROR(CheckTerminal());
  }
  if (record_.state() == wire::ExecutionRecord::STARTING) {
    early_signals_.push_back(signal);
    return absl::OkStatus();
  }
  return Deliver(signal);
}

absl::Status Execution::Deliver(const wire::Signal& signal) {
  switch (signal.scope()) {
    case wire::Signal::LEADER:
      ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal.signal(), nullptr,
                0);
      break;
    case wire::Signal::FOREGROUND_GROUP:
      RETURN_IF_ERROR(SignalForegroundGroup(signal.signal()));
      break;
    default:
      if (signal.signal() == SIGKILL) {
        Kill();
        ForceEnd();
      } else {
        cgroup_.Signal(signal.signal());
      }
  }
  // Its end is not seen before this returns.
  if (signal.signal() != 0) {
    client_signals_.insert(signal.signal());
  }
  if (signal.kill_after_ns() >= 0) {
    KillAfter(absl::Nanoseconds(signal.kill_after_ns()));
  }
  return absl::OkStatus();
}

void Execution::DeliverEarlySignals() {
  for (const wire::Signal& signal : std::exchange(early_signals_, {})) {
    (void)Deliver(signal);
  }
}

absl::Status Execution::CheckTerminal() {
  const OutputChannel* terminal = FindOutput(wire::TERMINAL);
  return terminal == nullptr || terminal->closed()
             ? MakeFailure(wire::Reply::NOT_A_TERMINAL, "it has no terminal")
             : absl::OkStatus();
}

absl::Status Execution::SignalForegroundGroup(int signal) {
  const OutputChannel* terminal = FindOutput(wire::TERMINAL);
  if (signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP) {
    return SignalForeground(terminal->source(), signal);
  }
  const absl::StatusOr<pid_t> group = ForegroundGroup(terminal->source());
  RETURN_IF_ERROR(group.status());
  if (*group > 0) {
    cgroup_.SignalProcessGroup(signal, *group);
  }
  return absl::OkStatus();
}

OutputChannel* Execution::FindOutput(wire::Stream stream) {
  for (const auto& output : outputs_) {
    if (output->kind() == stream) {
      return output.get();
    }
  }
  return nullptr;
}

absl::Status Execution::Resize(uint32_t rows, uint32_t columns) {
  RETURN_IF_ERROR(CheckTerminal());
  return ResizePty(FindOutput(wire::TERMINAL)->source(), rows, columns);
}

void Execution::WriteInput(const wire::WriteInput& input,
                           InputChannel::Done done) {
  if (input_ == nullptr) {
    done(MakeFailure(wire::Reply::NO_INPUT, "it was started without input"),
         wire::InputState());
    return;
  }
  input_->Write(input.append() ? input_->next_offset() : input.offset(),
                input.data(), input.eof(), std::move(done));
}

void Execution::Acknowledge(wire::Stream stream, uint64_t offset) {
  OutputChannel* output = FindOutput(stream);
  if (output != nullptr) {
    output->Acknowledge(offset);
  }
}

void Execution::Condemn(wire::ExitRecord::Cause cause) {
  if (!condemned_.has_value()) {
    condemned_ = cause;
  }
  if (record_.state() == wire::ExecutionRecord::RUNNING) {
    killed_.Note(cgroup_, pidfd_.get());
  }
  if (reaped_) {
    Drain();
  }
}

}  // namespace sandbox
