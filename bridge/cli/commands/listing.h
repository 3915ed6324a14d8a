// All sandboxes and all executions of a server, page by page.

#ifndef BRIDGE_CLI_COMMANDS_LISTING_H_
#define BRIDGE_CLI_COMMANDS_LISTING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bridge/client/connection.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

// Returns the sandboxes of all pages.
absl::StatusOr<corral::v1::ListSandboxesResponse> ListSandboxes(
    client::Connection& connection);

// `parent` is a sandbox, or client::kAllSandboxes. If the server has not read
// all records yet, says on standard error for which sandboxes the list is
// incomplete.
absl::StatusOr<std::vector<corral::v1::Execution>> ListExecutions(
    client::Connection& connection, const std::string& parent);

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_LISTING_H_
