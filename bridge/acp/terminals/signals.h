// The signals that end the command of a terminal.

#ifndef BRIDGE_ACP_TERMINALS_SIGNALS_H_
#define BRIDGE_ACP_TERMINALS_SIGNALS_H_

#include <string>

#include "absl/status/status.h"
#include "corral/v1/execution_service.pb.h"

namespace bridge {

// Makes a request for SIGTERM to the whole tree, and SIGKILL after 2 s.
corral::v1::SignalExecutionRequest KillRequest(
    const std::string& execution_name);

// Makes a request for SIGKILL to the whole tree.
corral::v1::SignalExecutionRequest SigkillRequest(
    const std::string& execution_name);

// Returns true if nothing remains to be done after a call with this status: the
// signal was delivered, or the execution has ended or was deleted.
bool HasArrived(const absl::Status& signal);

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_SIGNALS_H_
