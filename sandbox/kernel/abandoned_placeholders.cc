#include "sandbox/kernel/abandoned_placeholders.h"

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/placeholder.h"

namespace sandbox {

void RemoveAbandonedPlaceholders(const std::string& workspace,
                                 const std::vector<std::string>& paths) {
  const UniqueFd root = OpenDirectoryWithoutLinks(workspace);
  if (!root.valid()) {
    return;
  }
  for (const std::string& path : paths) {
    absl::StatusOr<UniqueFd> at = OpenBeneath(root.get(), ".");
    for (const std::string& name :
         std::vector<std::string>(absl::StrSplit(path, '/'))) {
      // It stands in place of the first part that did not exist, and goes with
      // this object.
      if (!at.ok() || Placeholder::Find(at->get(), name).has_value()) {
        break;
      }
      absl::StatusOr<UniqueFd> next = OpenBeneath(at->get(), name);
      at = std::move(next);
    }
  }
}

}  // namespace sandbox
