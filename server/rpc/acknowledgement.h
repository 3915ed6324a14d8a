// AcknowledgeOutput: the caller has stored the output before some offsets, so
// the log need not keep it.

#ifndef SERVER_RPC_ACKNOWLEDGEMENT_H_
#define SERVER_RPC_ACKNOWLEDGEMENT_H_

#include "absl/status/status.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/core/execution.h"

namespace server {

// Fails with INVALID_FIELD, NO_SUCH_STREAM or OFFSET_OUT_OF_RANGE.
absl::Status CheckAcknowledgement(
    const corral::v1::AcknowledgeOutputRequest& request,
    const Execution& execution);

// Passes a checked request on to the supervisor: one packet for each stream.
void SendAcknowledgement(const corral::v1::AcknowledgeOutputRequest& request,
                         const Execution& execution,
                         sandbox::SupervisorConnection* supervisor);

}  // namespace server

#endif  // SERVER_RPC_ACKNOWLEDGEMENT_H_
