#include "server/rpc/find_execution.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/core/lifetime.h"
#include "server/core/recovery.h"
#include "server/core/registry.h"
#include "server/core/sandbox.h"

namespace server {

absl::StatusOr<FoundExecution> FindExecution(Sandboxes* sandboxes,
                                             const std::string& name) {
  ASSIGN_OR_RETURN(const ExecutionName parsed,
                   ExecutionName::Parse("name", name));
  FoundExecution found;
  found.id = parsed.id();
  absl::StatusOr<std::shared_ptr<Sandbox>> sandbox =
      sandboxes->registry().Get(parsed.sandbox());
  if (absl::IsNotFound(sandbox.status())) {
    return ExecutionNotFound(name);
  }
  RETURN_IF_ERROR(sandbox.status());
  found.sandbox = *std::move(sandbox);
  found.hold = std::make_shared<const CallHold>(found.sandbox->HoldForCall());
  found.execution = found.sandbox->FindExecution(parsed.id());
  if (found.execution == nullptr && !found.sandbox->knows_executions()) {
    found.sandbox->HurryRecords();
    return SandboxUnavailable(found.sandbox->spec().name(),
                              "its records are not read yet",
                              Recovery::kReadRetry);
  }
  if (found.execution == nullptr) {
    return ExecutionNotFound(name);
  }
  return found;
}

}  // namespace server
