#include "sandbox/kernel/process_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

// Init and the spawner count, too.
constexpr uint64_t kOwnProcesses = 2;

absl::Status Limit(pid_t pid, __rlimit_resource resource, const char* name,
                   uint64_t value) {
  rlimit limit = {};
  if (::prlimit(pid, resource, nullptr, &limit) == 0) {
    limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value);
    limit.rlim_cur = limit.rlim_max;
    if (::prlimit(pid, resource, &limit, nullptr) == 0) {
      return absl::OkStatus();
    }
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("prlimit ", name));
}

absl::Status Refusal(const char* limit) {
  return MakeFailure(
      wire::Reply::ISOLATION,
      absl::StrCat(limit,
                   " needs control groups, and this host gives corrald "
                   "none; `corral info` says why"));
}

}  // namespace

absl::Status LimitProcesses(pid_t spawner, const CgroupLimits& limits) {
  if (limits.cpu_millis != 0) {
    return Refusal("a limit of CPUs");
  }
  if (limits.kill_all_on_oom) {
    return Refusal("kill_all_on_oom");
  }
  if (limits.memory_bytes != 0) {
    RETURN_IF_ERROR(
        Limit(spawner, RLIMIT_DATA, "RLIMIT_DATA", limits.memory_bytes));
  }
  if (limits.pids != 0) {
    RETURN_IF_ERROR(Limit(spawner, RLIMIT_NPROC, "RLIMIT_NPROC",
                          limits.pids + kOwnProcesses));
  }
  return absl::OkStatus();
}

}  // namespace sandbox
