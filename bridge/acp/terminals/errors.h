// The errors that an agent gets for its terminal/* requests. Agents show
// message and data to people and models.

#ifndef BRIDGE_ACP_TERMINALS_ERRORS_H_
#define BRIDGE_ACP_TERMINALS_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/response.h"
#include "corral/v1/execution.pb.h"

namespace bridge {

// -32002 with data.terminalId: never issued, of another session, or released.
Error UnknownTerminal(const std::string& terminal_id);

// -32002 with data.sessionId.
Error UnknownSession(const std::string& session_id);

Error UnknownMethod(const std::string& method);

Error Cancelled();

// -32602 for INVALID_ARGUMENT, else -32603; data.details has the message,
// data.reason the code.
Error FromStatus(const absl::Status& status);

// -32603 with data.details "spawn PROGRAM ENOENT: ...", as Node.js words it,
// data.stage and data.errno.
Error StartFailed(absl::string_view program,
                  const corral::v1::StartFailure& failure);

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_ERRORS_H_
