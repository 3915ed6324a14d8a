// The command of an execution as its creator sent it. The server keeps large
// ones on the disk only.

#ifndef SERVER_RPC_WHOLE_COMMAND_H_
#define SERVER_RPC_WHOLE_COMMAND_H_

#include "absl/status/status.h"
#include "corral/v1/execution.pb.h"
#include "server/core/execution.h"

namespace server {

// Reads the whole command of an execution into its description. Blocks on the
// disk. Fails with EXECUTION_NOT_FOUND if the execution was deleted meanwhile.
absl::Status ReadWholeCommand(const Execution& execution,
                              corral::v1::Execution* description);

}  // namespace server

#endif  // SERVER_RPC_WHOLE_COMMAND_H_
