// Names of sandboxes and executions: short, as people type them ("s1",
// "s1/e2"), and full, as in the API
// ("tenants/default/sandboxes/s1/executions/e2").

#ifndef BRIDGE_CLIENT_RESOURCE_NAME_H_
#define BRIDGE_CLIENT_RESOURCE_NAME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace client {

// The parent of all sandboxes; this version has one tenant.
inline constexpr char kTenant[] = "tenants/default";

// The parent in ListExecutions that stands for all sandboxes.
inline constexpr char kAllSandboxes[] = "tenants/default/sandboxes/-";

// Return the full name of a short or full one. Fails with InvalidArgument if it
// is neither.
absl::StatusOr<std::string> SandboxName(absl::string_view name);
absl::StatusOr<std::string> ExecutionName(absl::string_view name);

// Returns the full name of the sandbox that an execution is in.
std::string SandboxOf(absl::string_view execution_name);

// Returns "s1" or "s1/e2"; a text that is not a full name is returned
// unchanged.
std::string ShortName(absl::string_view name);

}  // namespace client

#endif  // BRIDGE_CLIENT_RESOURCE_NAME_H_
