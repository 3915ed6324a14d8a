// The time limits of one command: wall and CPU time, the grace period between
// a polite signal and SIGKILL, and how long its output is drained.
//
// Used on the event loop's thread only. Not movable: timers refer to it.

#ifndef SANDBOX_SUPERVISOR_COMMAND_TIMEOUTS_H_
#define SANDBOX_SUPERVISOR_COMMAND_TIMEOUTS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class CommandTimeouts {
 public:
  struct Callbacks {
    // Returns the CPU time that all processes of the command have used.
    std::function<absl::StatusOr<absl::Duration>()> cpu_time;
    // Called once, with WALL_TIMEOUT or CPU_TIMEOUT, when the grace period
    // begins.
    std::function<void(wire::ExitRecord::Cause)> expired;
    // Called when the grace period is over.
    std::function<void()> must_kill;
  };

  // `timers` outlives this.
  CommandTimeouts(Timers* timers, const wire::CommandSpec& command,
                  Callbacks callbacks);
  CommandTimeouts(const CommandTimeouts&) = delete;
  CommandTimeouts& operator=(const CommandTimeouts&) = delete;

  // True if the command has a limit of CPU time.
  bool limits_cpu() const { return cpu_ > absl::ZeroDuration(); }
  // How long a descendant that holds the output open delays the end.
  absl::Duration drain() const { return drain_; }

  // Begins wall and CPU time. Called when the command runs.
  void Start();
  // Ends wall and CPU time, which can no longer expire. Called when the command
  // has exited. A grace period continues, since descendants may live.
  void OnExit();

  // Calls must_kill after `grace`. Never postpones an earlier kill.
  void KillAfter(absl::Duration grace);
  // Called when nothing is left to kill.
  void CancelKill() { kill_.Cancel(); }

 private:
  void CheckCpuTime();
  void Expire(wire::ExitRecord::Cause cause);

  Timers* const timers_;
  const Callbacks callbacks_;
  // Zero: no limit.
  const absl::Duration wall_;
  const absl::Duration cpu_;
  const absl::Duration kill_grace_;
  const absl::Duration drain_;
  Timer wall_timer_;
  Timer cpu_timer_;
  Timer kill_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_TIMEOUTS_H_
