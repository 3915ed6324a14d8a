#include "sandbox/supervisor/command_usage.h"

#include <algorithm>
#include <cstdint>

namespace sandbox {
namespace {

// The unit of ru_inblock and ru_oublock on Linux, whatever a disk's blocks are.
constexpr uint64_t kBlockSize = 512;

uint64_t Bytes(int64_t blocks) {
  return static_cast<uint64_t>(blocks) * kBlockSize;
}

int64_t Nanoseconds(const timeval& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1000;
}

}  // namespace

void SetUsage(const CgroupUsage& group, const rusage& reaped,
              wire::Usage* usage) {
  usage->set_user_time_ns(std::max<int64_t>(
      static_cast<int64_t>(group.user_time_ns), Nanoseconds(reaped.ru_utime)));
  usage->set_system_time_ns(
      std::max<int64_t>(static_cast<int64_t>(group.system_time_ns),
                        Nanoseconds(reaped.ru_stime)));
  usage->set_memory_peak_bytes(group.memory_peak_bytes);
  usage->set_oom_kills(group.oom_kills);
  usage->set_disk_read_bytes(Bytes(reaped.ru_inblock));
  usage->set_disk_written_bytes(Bytes(reaped.ru_oublock));
}

}  // namespace sandbox
