#include "sandbox/kernel/abandoned_cgroups.h"

#include <signal.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sandbox/base/log.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/id_range.h"

namespace sandbox {
namespace {

// True for the group of a sandbox without ids of its own whose supervisor has
// gone. A new one with the same pid fails, and is replaced.
bool IsOfGoneSupervisor(absl::string_view name) {
  pid_t supervisor = 0;
  return absl::ConsumePrefix(&name, kOwnUserCgroup) &&
         absl::SimpleAtoi(name, &supervisor) && supervisor > 0 &&
         ::kill(supervisor, 0) != 0 && errno == ESRCH;
}

bool Remove(const CgroupHost& host, const std::string& name) {
  const absl::Status removed = Cgroup::RemoveLeftOver(host, name);
  if (!removed.ok()) {
    LOG(WARNING) << "cannot remove the control groups of a lost sandbox: "
                 << removed.ToString();
  }
  return removed.ok();
}

}  // namespace

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
    if (Remove(*host, absl::StrCat(kSandboxCgroup, first_id >> 16))) {
      range->Release();
    } else {
      removed_all = false;
    }
  }
  for (const std::string& name : Cgroup::List(*host)) {
    if (IsOfGoneSupervisor(name)) {
      removed_all = Remove(*host, name) && removed_all;
    }
  }
  return removed_all;
}

}  // namespace sandbox
