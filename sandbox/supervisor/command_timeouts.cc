#include "sandbox/supervisor/command_timeouts.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace sandbox {
namespace {

constexpr absl::Duration kDefaultDrain = absl::Seconds(2);

// The shortest time between reads of the CPU time. Together with the kernel's
// own tick, it makes a command overshoot its limit by less than the promised 50
// ms for each CPU.
constexpr absl::Duration kShortestCheck = absl::Milliseconds(20);

}  // namespace

CommandTimeouts::CommandTimeouts(Timers* timers,
                                 const wire::CommandSpec& command,
                                 Callbacks callbacks)
    : timers_(timers),
      callbacks_(std::move(callbacks)),
      wall_(absl::Nanoseconds(command.wall_timeout_ns())),
      cpu_(absl::Nanoseconds(command.cpu_timeout_ns())),
      kill_grace_(absl::Nanoseconds(command.kill_grace_ns())),
      drain_(command.has_drain_ns() ? absl::Nanoseconds(command.drain_ns())
                                    : kDefaultDrain) {}

void CommandTimeouts::Start() {
  if (wall_ > absl::ZeroDuration()) {
    wall_timer_ = Timer(timers_, wall_,
                        [this] { Expire(wire::ExitRecord::WALL_TIMEOUT); });
  }
  if (limits_cpu()) {
    CheckCpuTime();
  }
}

void CommandTimeouts::OnExit() {
  wall_timer_.Cancel();
  cpu_timer_.Cancel();
}

void CommandTimeouts::CheckCpuTime() {
  const absl::StatusOr<absl::Duration> used = callbacks_.cpu_time();
  const absl::Duration left = used.ok() ? cpu_ - *used : cpu_;
  if (left <= absl::ZeroDuration()) {
    Expire(wire::ExitRecord::CPU_TIMEOUT);
    return;
  }
  // The earliest time at which all CPUs together can use up what is left.
  const long cpus = std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L);
  cpu_timer_ = Timer(timers_, std::max(left / cpus, kShortestCheck),
                     [this] { CheckCpuTime(); });
}

void CommandTimeouts::Expire(wire::ExitRecord::Cause cause) {
  wall_timer_.Cancel();
  cpu_timer_.Cancel();
  callbacks_.expired(cause);
  KillAfter(kill_grace_);
}

void CommandTimeouts::KillAfter(absl::Duration grace) {
  Timer kill(timers_, grace, [this] { callbacks_.must_kill(); });
  if (!kill_.pending() || kill.IsDueBefore(kill_)) {
    kill_ = std::move(kill);
  }
}

}  // namespace sandbox
