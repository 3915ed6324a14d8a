// Resource names, as the top of proto/corral/v1/sandbox.proto defines them.
// A name is parsed once, where a request arrives, and carried as a type.

#ifndef SERVER_API_NAMES_H_
#define SERVER_API_NAMES_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace server {

// The one tenant of this version.
inline constexpr char kTenantName[] = "tenants/default";

// The sandbox id that stands for all sandboxes in the parent of a list.
inline constexpr char kAnySandbox[] = "-";

// tenants/default/sandboxes/{sandbox}
class SandboxName {
 public:
  // `id` must be valid, or kAnySandbox.
  explicit SandboxName(std::string id) : id_(std::move(id)) {}

  // Fails with INVALID_FIELD for `field` if `text` is not a sandbox's name, and
  // with SANDBOX_NOT_FOUND if the tenant does not exist.
  static absl::StatusOr<SandboxName> Parse(absl::string_view field,
                                           absl::string_view text);
  // Accepts the name of all sandboxes too: "tenants/default/sandboxes/-".
  static absl::StatusOr<SandboxName> ParseListParent(absl::string_view field,
                                                     absl::string_view text);

  const std::string& id() const { return id_; }
  bool is_any() const { return id_ == kAnySandbox; }
  std::string ToString() const;

 private:
  std::string id_;
};

// tenants/default/sandboxes/{sandbox}/executions/{execution}
class ExecutionName {
 public:
  // Both ids must be valid.
  ExecutionName(SandboxName sandbox, std::string id)
      : sandbox_(std::move(sandbox)), id_(std::move(id)) {}

  // Fails with INVALID_FIELD for `field` if `text` is not an execution's name,
  // and with EXECUTION_NOT_FOUND if the tenant does not exist.
  static absl::StatusOr<ExecutionName> Parse(absl::string_view field,
                                             absl::string_view text);

  const SandboxName& sandbox() const { return sandbox_; }
  const std::string& id() const { return id_; }
  std::string ToString() const;

 private:
  SandboxName sandbox_;
  std::string id_;
};

bool IsTenantName(absl::string_view name);

// Returns true if `id` matches [a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?
bool IsValidId(absl::string_view id);

// Checks an id that a client chose, which may be empty. Fails with
// INVALID_FIELD.
absl::Status CheckChosenId(absl::string_view field, absl::string_view id);

// Fails with INVALID_FIELD.
absl::Status CheckTenantName(absl::string_view field, absl::string_view name);

}  // namespace server

#endif  // SERVER_API_NAMES_H_
