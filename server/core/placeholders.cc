#include "server/core/placeholders.h"

#include <algorithm>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/kernel/abandoned_placeholders.h"

namespace server {

using ::corral::supervisor::v1::SandboxSpec;

bool HasReadOnlyPaths(const SandboxSpec& spec) {
  return !spec.read_only_paths().empty() ||
         std::any_of(spec.further_workspaces().begin(),
                     spec.further_workspaces().end(), [](const auto& further) {
                       return !further.read_only_paths().empty();
                     });
}

void RemovePlaceholders(const SandboxSpec& spec) {
  if (!spec.read_only_paths().empty()) {
    sandbox::RemoveAbandonedPlaceholders(
        spec.workspace(),
        {spec.read_only_paths().begin(), spec.read_only_paths().end()});
  }
  for (const SandboxSpec::FurtherWorkspace& further :
       spec.further_workspaces()) {
    sandbox::RemoveAbandonedPlaceholders(
        further.path(),
        {further.read_only_paths().begin(), further.read_only_paths().end()});
  }
}

}  // namespace server
