// A command of the operator that prints the value of a service's header. It
// runs outside of the sandbox, as a child of the supervisor's broker.

#ifndef SANDBOX_SUPERVISOR_CREDENTIAL_COMMAND_H_
#define SANDBOX_SUPERVISOR_CREDENTIAL_COMMAND_H_

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Used on the thread of its loop only, where SIGCHLD is blocked. Its destructor
// kills the command.
class CredentialCommand {
 public:
  // Gets what the command printed, at most one byte more than a value may have;
  // or why it failed, without what it printed. May destroy the command.
  using Done = std::function<void(absl::StatusOr<std::string>)>;

  CredentialCommand(EventLoop* loop, std::vector<std::string> words, Done done,
                    absl::Duration patience = kPatience);
  ~CredentialCommand();

  // Calls `done` later, unless it fails.
  absl::Status Start();

  static constexpr absl::Duration kPatience = absl::Seconds(10);

 private:
  void ReadOutput();
  void OnEnd();
  // Kills the command with all processes of its session, and reaps it. Returns
  // its status, as waitpid(2) does.
  siginfo_t End();
  void Finish(absl::StatusOr<std::string> output);

  EventLoop* const loop_;
  const std::vector<std::string> words_;
  const Done done_;
  const absl::Duration patience_;
  pid_t pid_ = 0;
  UniqueFd pidfd_;
  UniqueFd output_;
  std::string printed_;
  Timer timeout_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CREDENTIAL_COMMAND_H_
