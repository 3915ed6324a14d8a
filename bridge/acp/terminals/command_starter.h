#ifndef BRIDGE_ACP_TERMINALS_COMMAND_STARTER_H_
#define BRIDGE_ACP_TERMINALS_COMMAND_STARTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/acp/gate/gate.h"
#include "bridge/acp/remote/command_stream.h"
#include "bridge/acp/remote/deletions.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/acp/sessions/workplaces.h"
#include "bridge/acp/terminals/terminal_params.h"
#include "bridge/gate/gated_command.h"
#include "bridge/jsonrpc/response.h"

namespace bridge {

// The server ends a command that runs longer, or uses more CPU time.
struct CommandLimits {
  absl::Duration timeout = absl::InfiniteDuration();
  absl::Duration cpu_timeout = absl::InfiniteDuration();
};

// Starts the commands of terminal/create requests in the sandboxes of their
// sessions, if the gate allows it. Used on the loop's thread only.
//
// The bridge chooses the id of each execution. If the server does not answer,
// it may have started the command all the same: the execution is then deleted
// by its name, so that an agent that tries again does not run the command
// twice.
class CommandStarter {
 public:
  struct Attempt;
  // Refers to a command that is being started.
  using Handle = std::weak_ptr<Attempt>;

  struct Started {
    GatedCommand command;        // without argv if no rule has seen it
    std::string execution_name;  // empty if the command does not run
    std::optional<Error> error;
    // Why the gate did not let the command run; empty if it did.
    std::string refusal = {};
    // Delivers the output and the end; null if the command does not run.
    std::shared_ptr<CommandStream> stream = nullptr;
  };
  using Done = absl::AnyInvocable<void(const Started&)>;

  // All pointers must outlive this object.
  CommandStarter(ServerCalls* calls, Deletions* deletions,
                 Workplaces* workplaces, Gate* gate, CommandLimits limits)
      : calls_(calls),
        deletions_(deletions),
        workplaces_(workplaces),
        gate_(gate),
        limits_(limits) {}

  // Runs `done` when the command runs, was refused, or has failed to start.
  // Replaces the session's sandbox once if it has died.
  Handle Start(const CreateTerminalParams& params, Done done);

  // Called when nobody waits for the command any more. If the user is still
  // being asked, withdraws the question, and `done` does not run.
  void Abandon(const Handle& handle);

 private:
  void OnVerdict(const std::shared_ptr<Attempt>& attempt,
                 const Gate::Verdict& verdict);
  // Gives the execution an id that was not used before.
  void Identify(Attempt& attempt);
  void Enter(const std::shared_ptr<Attempt>& attempt);
  void OnAnswer(const std::shared_ptr<Attempt>& attempt,
                const absl::StatusOr<std::shared_ptr<CommandStream>>& answer);

  ServerCalls* const calls_;
  Deletions* const deletions_;
  Workplaces* const workplaces_;
  Gate* const gate_;
  const CommandLimits limits_;
  uint64_t next_execution_ = 1;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_COMMAND_STARTER_H_
