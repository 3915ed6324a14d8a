// Sends signals and window sizes to a command.

#ifndef BRIDGE_CLI_ATTACH_EXECUTION_CONTROL_H_
#define BRIDGE_CLI_ATTACH_EXECUTION_CONTROL_H_

#include <signal.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/client/connection.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// Thread-safe; calls block for as long as the server takes, at most 8 s.
class ExecutionControl {
 public:
  // `give_up` is called, once or more, when a signal cannot be passed on: the
  // command is not known to run yet, the server cannot be reached, or the
  // command has ended and this is the second signal since. `now` is the clock.
  ExecutionControl(client::Connection& connection,
                   std::function<void()> give_up,
                   std::function<absl::Time()> now = &absl::Now);

  void SetExecution(const std::string& name) ABSL_LOCKS_EXCLUDED(mutex_);

  // Sets the size of the command's terminal for SIGWINCH. Sends any other
  // signal to the whole tree; a third SIGINT within 2 s is sent as SIGKILL. If
  // the server goes away during the call, the signal is sent again, so it may
  // arrive twice.
  void Forward(int signal) ABSL_LOCKS_EXCLUDED(mutex_);

  // Sends SIGKILL to the whole tree.
  void Kill() { Forward(SIGKILL); }

  // The signal for which `give_up` was called first; 0: it was not called.
  int undelivered_signal() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Returns the signal to send in place of `signal`, given the earlier ones.
  int Escalate(int signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Resize(const std::string& name);
  // Returns false if the signal will have no effect.
  bool Send(const std::string& name, int signal) ABSL_LOCKS_EXCLUDED(mutex_);

  client::Connection& connection_;
  const std::function<void()> give_up_;
  const std::function<absl::Time()> now_;

  sandbox::Mutex mutex_;
  std::string name_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Time> interrupts_ ABSL_GUARDED_BY(mutex_);
  int undelivered_signal_ ABSL_GUARDED_BY(mutex_) = 0;
  // Signals that came after the command's end.
  int late_signals_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_EXECUTION_CONTROL_H_
