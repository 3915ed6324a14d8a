#ifndef BRIDGE_ACP_TERMINALS_COMMAND_STARTER_H_
#define BRIDGE_ACP_TERMINALS_COMMAND_STARTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/deletions.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/acp/sessions/workplaces.h"
#include "bridge/acp/terminals/terminal_params.h"
#include "bridge/jsonrpc/response.h"
#include "corral/v1/execution.pb.h"

namespace bridge {

// Starts the commands of terminal/create requests in the sandboxes of their
// sessions. For the loop's thread.
//
// The bridge chooses the id of each execution. If the server does not answer,
// it may have started the command all the same: the execution is then deleted
// by its name, so that an agent that tries again does not run the command
// twice.
class CommandStarter {
 public:
  struct Started {
    std::string execution_name;  // empty if there is an error
    std::optional<Error> error;
  };
  using Done = absl::AnyInvocable<void(const Started&)>;

  // All pointers must outlive this object. The server ends a command that runs
  // longer than `command_timeout`, unless that is infinite.
  CommandStarter(ServerCalls* calls, Deletions* deletions,
                 Workplaces* workplaces, absl::Duration command_timeout)
      : calls_(calls),
        deletions_(deletions),
        workplaces_(workplaces),
        command_timeout_(command_timeout) {}

  // Runs `done` when the command runs, or has failed to start. Replaces the
  // session's sandbox once if it has died.
  void Start(const CreateTerminalParams& params, Done done);

 private:
  struct Attempt;

  void Enter(const std::shared_ptr<Attempt>& attempt);
  void OnAnswer(const std::shared_ptr<Attempt>& attempt,
                const absl::StatusOr<corral::v1::Execution>& answer);

  ServerCalls* const calls_;
  Deletions* const deletions_;
  Workplaces* const workplaces_;
  const absl::Duration command_timeout_;
  uint64_t next_execution_ = 1;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_COMMAND_STARTER_H_
