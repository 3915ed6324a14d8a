// Resource names, as the top of proto/corral/v1/sandbox.proto defines them.
// Every error is INVALID_FIELD for `field`, or SANDBOX_NOT_FOUND for a tenant
// that does not exist.

#ifndef SERVER_API_NAMES_H_
#define SERVER_API_NAMES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace server {

// The one tenant of this version.
inline constexpr char kTenantName[] = "tenants/default";

// The sandbox id that stands for all sandboxes in the parent of a list.
inline constexpr char kAnySandbox[] = "-";

struct ExecutionName {
  std::string sandbox;
  std::string execution;
};

bool IsTenantName(absl::string_view name);

// [a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?
bool IsValidId(absl::string_view id);

// An id that a client chose; empty is good too.
absl::Status CheckChosenId(absl::string_view field, absl::string_view id);

absl::Status CheckTenantName(absl::string_view field, absl::string_view name);

// The id in tenants/{tenant}/sandboxes/{sandbox}.
absl::StatusOr<std::string> ParseSandboxName(absl::string_view field,
                                             absl::string_view name);

absl::StatusOr<ExecutionName> ParseExecutionName(absl::string_view field,
                                                 absl::string_view name);

std::string FormatSandboxName(absl::string_view sandbox);
std::string FormatExecutionName(absl::string_view sandbox,
                                absl::string_view execution);

}  // namespace server

#endif  // SERVER_API_NAMES_H_
