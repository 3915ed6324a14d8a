// The answers to terminal/output and terminal/wait_for_exit.

#ifndef BRIDGE_ACP_TERMINALS_RESULTS_H_
#define BRIDGE_ACP_TERMINALS_RESULTS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/terminals/exit_status.h"
#include "bridge/acp/terminals/terminal.h"
#include "bridge/acp/terminals/terminal_phase.h"
#include "bridge/jsonrpc/json.h"

namespace bridge {

// Returns the result of terminal/output. It has exitStatus once the terminal
// has ended; if the end is lost, with neither code nor signal.
Json OutputResult(const Terminal& terminal);

// Returns how a command ended if the failure of its output stream says so: an
// execution that no longer exists after its terminal was released was killed.
// If the server just can't be reached, the command may still run.
std::optional<ExitStatus> EndAfterLoss(TerminalPhase phase,
                                       const absl::Status& failure);

// Returns the line that answers wait request `id` of a terminal that has ended:
// the exit status, or an error if the end is lost.
std::string WaitAnswer(absl::string_view id, const Terminal& terminal);

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_RESULTS_H_
