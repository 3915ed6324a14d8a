// The errors that answer an agent's terminal/* requests. Agents show message
// and data to people and models.

#ifndef BRIDGE_ACP_TERMINALS_ERRORS_H_
#define BRIDGE_ACP_TERMINALS_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/response.h"
#include "corral/v1/execution.pb.h"

namespace bridge {

// -32002 with data.terminalId: the id was never issued, belongs to another
// session, or was released.
Error UnknownTerminal(const std::string& terminal_id);

// -32002 with data.sessionId: the session was never opened, or was closed.
Error UnknownSession(const std::string& session_id);

Error UnknownMethod(const std::string& method);

Error Cancelled();

// -32602 for INVALID_ARGUMENT, otherwise -32603. data.details is the message,
// data.reason the name of the code.
Error FromStatus(const absl::Status& status);

// -32603 with data.stage, data.errno and data.details "spawn PROGRAM ENOENT:
// ...", which is how Node.js words it.
Error StartFailed(absl::string_view program,
                  const corral::v1::StartFailure& failure);

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_ERRORS_H_
