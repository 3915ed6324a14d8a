// Finds the execution that a request names.

#ifndef SERVER_RPC_FIND_EXECUTION_H_
#define SERVER_RPC_FIND_EXECUTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/core/sandboxes.h"
#include "server/rpc/found_execution.h"

namespace server {

// Finds an execution by its name; its sandbox counts as used. Fails with
// INVALID_FIELD for the field "name", EXECUTION_NOT_FOUND or SANDBOX_NOT_READY.
absl::StatusOr<FoundExecution> FindExecution(Sandboxes* sandboxes,
                                             const std::string& name);

}  // namespace server

#endif  // SERVER_RPC_FIND_EXECUTION_H_
