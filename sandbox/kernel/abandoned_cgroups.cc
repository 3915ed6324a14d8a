#include "sandbox/kernel/abandoned_cgroups.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sandbox/base/log.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/id_range.h"

namespace sandbox {

void RemoveAbandonedCgroups() {
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  if (!host.ok()) {
    return;  // this host has no groups
  }
  for (const std::string& name : Cgroup::List(*host)) {
    absl::string_view number = name;
    uint32_t ids;
    if (!absl::ConsumePrefix(&number, kSandboxCgroup) ||
        !absl::SimpleAtoi(number, &ids)) {
      continue;
    }
    // A supervisor holds its range as long as it lives. Holding it here keeps a
    // new supervisor from using the group meanwhile.
    const absl::StatusOr<IdRange> range = IdRange::TryAcquire(ids << 16);
    if (!range.ok()) {
      continue;
    }
    // Creating the group removes what is left of the old one.
    absl::StatusOr<Cgroup> group = Cgroup::Create(*host, name);
    const absl::Status removed = group.ok() ? group->Remove() : group.status();
    if (!removed.ok()) {
      LOG(WARNING) << "cannot remove the control groups of a lost sandbox: "
                   << removed.ToString();
    }
  }
}

}  // namespace sandbox
