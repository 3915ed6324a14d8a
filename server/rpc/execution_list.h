// The answer to ListExecutions.

#ifndef SERVER_RPC_EXECUTION_LIST_H_
#define SERVER_RPC_EXECUTION_LIST_H_

#include "absl/status/status.h"
#include "corral/v1/execution_service.pb.h"
#include "server/core/registry.h"

namespace server {

// Fills one page, which stays below 2 MiB. INVALID_FIELD, SANDBOX_NOT_FOUND. A
// list of one sandbox fails with SANDBOX_NOT_READY (UNAVAILABLE) if its
// executions are not all known yet. Thread-safe; never waits for a disk.
absl::Status ListPage(const Registry& registry,
                      const corral::v1::ListExecutionsRequest& request,
                      corral::v1::ListExecutionsResponse* response);

}  // namespace server

#endif  // SERVER_RPC_EXECUTION_LIST_H_
