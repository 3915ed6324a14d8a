// SignalExecution and ResizeTerminal: calls that the supervisor of an execution
// carries out.

#ifndef SERVER_RPC_CONTROL_CALL_H_
#define SERVER_RPC_CONTROL_CALL_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "corral/v1/execution_service.pb.h"
#include "server/rpc/found_execution.h"

namespace server {

// Called once, on any thread, with OK, INVALID_FIELD, NOT_A_TERMINAL,
// EXECUTION_ENDED, EXECUTION_NOT_FOUND, SANDBOX_NOT_READY or SERVER_FAULT.
using ControlReply = absl::AnyInvocable<void(absl::Status)>;

// Each checks the request, waits until the server has found the supervisor, and
// passes the request on. `request` may be gone when it returns.
void Signal(const FoundExecution& target,
            const corral::v1::SignalExecutionRequest& request,
            ControlReply reply);
void Resize(const FoundExecution& target,
            const corral::v1::ResizeTerminalRequest& request,
            ControlReply reply);

}  // namespace server

#endif  // SERVER_RPC_CONTROL_CALL_H_
