// Names of sandboxes and executions, short as people type them ("s1", "s1/e2")
// and full as the API has them
// ("tenants/default/sandboxes/s1/executions/e2").

#ifndef BRIDGE_CLIENT_RESOURCE_NAME_H_
#define BRIDGE_CLIENT_RESOURCE_NAME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace client {

// The parent of all sandboxes of this version.
inline constexpr char kTenant[] = "tenants/default";

// All sandboxes, as a parent of ListExecutions.
inline constexpr char kAllSandboxes[] = "tenants/default/sandboxes/-";

// The full name. InvalidArgument: it is neither short nor full.
absl::StatusOr<std::string> SandboxName(absl::string_view name);
absl::StatusOr<std::string> ExecutionName(absl::string_view name);

// Of an execution's full name: its sandbox's.
std::string SandboxOf(absl::string_view execution_name);

// "s1" or "s1/e2"; what is no full name stays as it is.
std::string ShortName(absl::string_view name);

}  // namespace client

#endif  // BRIDGE_CLIENT_RESOURCE_NAME_H_
