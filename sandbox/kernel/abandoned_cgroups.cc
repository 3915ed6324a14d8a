#include "sandbox/kernel/abandoned_cgroups.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/log.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/id_range.h"

namespace sandbox {

bool RemoveAbandonedCgroups() {
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  if (!host.ok()) {
    return true;  // this host has no groups
  }
  bool removed_all = true;
  for (const uint32_t first_id : IdRange::List()) {
    // A supervisor holds its range as long as it lives. Holding it here keeps a
    // new supervisor from using the group meanwhile.
    absl::StatusOr<IdRange> range = IdRange::TryAcquire(first_id);
    if (!range.ok()) {
      continue;
    }
    const absl::Status removed = Cgroup::RemoveLeftOver(
        *host, absl::StrCat(kSandboxCgroup, first_id >> 16));
    if (removed.ok()) {
      range->Release();
    } else {
      LOG(WARNING) << "cannot remove the control groups of a lost sandbox: "
                   << removed.ToString();
      removed_all = false;
    }
  }
  return removed_all;
}

}  // namespace sandbox
