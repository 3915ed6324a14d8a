#include "sandbox/kernel/cgroup_limits.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

constexpr uint64_t kCpuPeriodUs = 100'000;
constexpr char kSocketMemory[] = "memory.kmem.tcp.limit_in_bytes";

bool Exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

absl::Status Limit(const std::string& path, uint64_t value) {
  return WriteSmallFile(path, absl::StrCat(value));
}

uint64_t CpuQuotaUs(const CgroupLimits& limits) {
  return limits.cpu_millis * kCpuPeriodUs / 1000;
}

absl::Status SetLimitsV2(const std::string& directory,
                         const CgroupLimits& limits) {
  if (limits.memory_bytes != 0) {
    RETURN_IF_ERROR(Limit(directory + "/memory.max", limits.memory_bytes));
    // The file is missing in a kernel without swap.
    if (Exists(directory + "/memory.swap.max")) {
      RETURN_IF_ERROR(Limit(directory + "/memory.swap.max", 0));
    }
  }
  if (limits.pids != 0) {
    RETURN_IF_ERROR(Limit(directory + "/pids.max", limits.pids));
  }
  if (limits.cpu_millis != 0) {
    RETURN_IF_ERROR(
        WriteSmallFile(directory + "/cpu.max",
                       absl::StrCat(CpuQuotaUs(limits), " ", kCpuPeriodUs)));
  }
  return limits.kill_all_on_oom ? Limit(directory + "/memory.oom.group", 1)
                                : absl::OkStatus();
}

// A directory has only the files of its own hierarchy's controllers.
absl::Status SetLimitsV1(const std::string& directory,
                         const CgroupLimits& limits) {
  const std::string memory = directory + "/memory.limit_in_bytes";
  if (limits.memory_bytes != 0 && Exists(memory)) {
    RETURN_IF_ERROR(Limit(memory, limits.memory_bytes));
    // The file is missing in a kernel without swap accounting.
    const std::string swap = directory + "/memory.memsw.limit_in_bytes";
    if (Exists(swap)) {
      RETURN_IF_ERROR(Limit(swap, limits.memory_bytes));
    }
    const std::string sockets = directory + "/" + kSocketMemory;
    if (Exists(sockets)) {
      RETURN_IF_ERROR(Limit(sockets, limits.memory_bytes / 4));
    }
  }
  if (limits.pids != 0 && Exists(directory + "/pids.max")) {
    RETURN_IF_ERROR(Limit(directory + "/pids.max", limits.pids));
  }
  if (limits.cpu_millis != 0 && Exists(directory + "/cpu.cfs_quota_us")) {
    RETURN_IF_ERROR(Limit(directory + "/cpu.cfs_quota_us", CpuQuotaUs(limits)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SetCgroupLimits(CgroupVersion version,
                             const std::string& directory,
                             const CgroupLimits& limits) {
  return version == CgroupVersion::kV2 ? SetLimitsV2(directory, limits)
                                       : SetLimitsV1(directory, limits);
}

absl::Status CountSocketMemory(const std::string& directory) {
  const std::string path = directory + "/" + kSocketMemory;
  return Exists(path) ? WriteSmallFile(path, "-1") : absl::OkStatus();
}

}  // namespace sandbox
