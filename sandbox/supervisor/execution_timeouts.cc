// The times that a command is given, and what follows when one is over.

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/supervisor/execution.h"

namespace sandbox {
namespace {

constexpr absl::Duration kDefaultDrain = absl::Seconds(2);

// Between looks at the CPU time that has been used. With the kernel's own tick
// it stays below the 50 ms for each CPU that are promised.
constexpr absl::Duration kShortestLook = absl::Milliseconds(20);

// Between looks at what was killed: at first, and as long as something does not
// go.
constexpr absl::Duration kFirstLook = absl::Milliseconds(1);
constexpr absl::Duration kLongestLook = absl::Milliseconds(100);

}  // namespace

Execution::Timeouts::Timeouts(const wire::CommandSpec& command)
    : wall(absl::Nanoseconds(command.wall_timeout_ns())),
      cpu(absl::Nanoseconds(command.cpu_timeout_ns())),
      kill_grace(absl::Nanoseconds(command.kill_grace_ns())),
      drain(command.has_drain_ns() ? absl::Nanoseconds(command.drain_ns())
                                   : kDefaultDrain) {}

void Execution::Cancel(std::optional<EventLoop::TimerId>& timer) {
  if (timer.has_value()) {
    host_->loop->Cancel(*timer);
    timer.reset();
  }
}

void Execution::StartTimeouts() {
  if (timeouts_.wall > absl::ZeroDuration()) {
    wall_timer_ = host_->loop->After(timeouts_.wall, [this] {
      wall_timer_.reset();
      OnTimeout(wire::ExitRecord::WALL_TIMEOUT);
    });
  }
  if (timeouts_.cpu > absl::ZeroDuration()) {
    CheckCpuTime();
  }
}

void Execution::CancelTimeouts() {
  Cancel(wall_timer_);
  Cancel(cpu_timer_);
}

void Execution::CheckCpuTime() {
  const absl::StatusOr<absl::Duration> used = cgroup_.CpuTime();
  const absl::Duration left = used.ok() ? timeouts_.cpu - *used : timeouts_.cpu;
  if (left <= absl::ZeroDuration()) {
    OnTimeout(wire::ExitRecord::CPU_TIMEOUT);
    return;
  }
  // It cannot be used up earlier than by all CPUs at once.
  const long cpus = std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L);
  cpu_timer_ = host_->loop->After(std::max(left / cpus, kShortestLook), [this] {
    cpu_timer_.reset();
    CheckCpuTime();
  });
}

void Execution::OnTimeout(wire::ExitRecord::Cause cause) {
  timed_out_ = cause;
  CancelTimeouts();
  killed_.Note(cgroup_, pidfd_.get());
  cgroup_.Signal(SIGTERM);
  KillAfter(timeouts_.kill_grace);
}

void Execution::KillAfter(absl::Duration grace) {
  const EventLoop::TimerId timer = host_->loop->After(grace, [this] {
    kill_timer_.reset();
    // Unless a timeout set the timer, and then that is the cause.
    client_signals_.insert(SIGKILL);
    Kill();
    if (!timed_out_.has_value()) {
      ForceEnd();
    }
  });
  if (kill_timer_.has_value() && *kill_timer_ < timer) {
    // Who asks for a later one does not put off an earlier one.
    host_->loop->Cancel(timer);
    return;
  }
  Cancel(kill_timer_);
  kill_timer_ = timer;
}

void Execution::Kill() {
  if (!ended()) {
    killed_.Note(cgroup_, pidfd_.get());
  }
  if (pidfd_.valid()) {
    // Before all others: else it may see a child killed, or a fork refused by
    // the cgroup, and exit by itself before its own signal comes.
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  }
  KillGroup(kFirstLook);
}

void Execution::KillGroup(absl::Duration pause) {
  Cancel(group_timer_);
  if (!cgroup_.Kill()) {
    group_timer_ = host_->loop->After(pause, [this, pause] {
      group_timer_.reset();
      KillGroup(std::min(2 * pause, kLongestLook));
    });
  } else if (ended()) {
    RemoveCgroup();
  }
}

}  // namespace sandbox
