#ifndef BRIDGE_ACP_TERMINALS_COMMAND_STARTER_H_
#define BRIDGE_ACP_TERMINALS_COMMAND_STARTER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/acp/sessions/workplaces.h"
#include "bridge/acp/terminals/terminal_params.h"
#include "bridge/jsonrpc/response.h"
#include "corral/v1/execution.pb.h"

namespace bridge {

// Starts the commands of terminal/create requests in the sandboxes of their
// sessions. For the loop's thread.
class CommandStarter {
 public:
  struct Started {
    std::string execution_name;
    // Set if nothing runs.
    std::optional<Error> error;
  };
  using Done = absl::AnyInvocable<void(const Started&)>;

  // Both must outlive it. What runs longer than `command_timeout` is ended;
  // infinite for no limit.
  CommandStarter(ServerCalls* calls, Workplaces* workplaces,
                 absl::Duration command_timeout)
      : calls_(calls),
        workplaces_(workplaces),
        command_timeout_(command_timeout) {}

  // Runs `done` when the command runs or is known not to. A sandbox that has
  // died is replaced, once.
  void Start(const CreateTerminalParams& params, Done done);

 private:
  struct Attempt;

  void Enter(const std::shared_ptr<Attempt>& attempt);
  void OnAnswer(const std::shared_ptr<Attempt>& attempt,
                const absl::StatusOr<corral::v1::Execution>& answer);

  ServerCalls* const calls_;
  Workplaces* const workplaces_;
  const absl::Duration command_timeout_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_COMMAND_STARTER_H_
