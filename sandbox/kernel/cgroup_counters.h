// Counts what the processes of one control group use. The files stay open from
// their first use on, since a group serves many commands, one after the other.
//
// Not thread-safe.

#ifndef SANDBOX_KERNEL_CGROUP_COUNTERS_H_
#define SANDBOX_KERNEL_CGROUP_COUNTERS_H_

#include <fcntl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

enum class CgroupVersion { kV1, kV2 };

struct CgroupUsage {
  // After Restart(), up to kMaxLeftBytes of it were charged before.
  uint64_t memory_peak_bytes = 0;
  uint64_t oom_kills = 0;
  uint64_t user_time_ns = 0;
  uint64_t system_time_ns = 0;
};

// A file that the kernel writes anew for each read, of at most 4 KiB. Opened
// when it is used first.
class CounterFile {
 public:
  CounterFile() = default;
  // `flags` of open(2). Most of these files cannot be opened to be written.
  explicit CounterFile(std::string path, int flags = O_RDONLY)
      : path_(std::move(path)), flags_(flags) {}

  // Empty if the file cannot be read.
  std::string Read();
  // The number that the file consists of, or 0.
  uint64_t ReadNumber();
  // Returns false if the kernel refuses it.
  bool Write(absl::string_view text);

 private:
  bool Open();

  std::string path_;
  int flags_ = O_RDONLY;
  UniqueFd fd_;
};

class CgroupCounters {
 public:
  // Charged memory that does not prevent a restart: pages that the kernel holds
  // ready on each CPU, and its own memory for what commands have opened.
  static constexpr uint64_t kMaxLeftBytes = uint64_t{512} << 10;

  // `directories` as in Cgroup.
  CgroupCounters(CgroupVersion version,
                 const std::vector<std::string>& directories);

  CgroupUsage Usage();
  uint64_t OomKills();
  // Returns the CPU time that all its processes have used, ended ones included.
  // After Restart() it counts from the first call on: most commands have no
  // limit of it, and are spared the read. Fails with ISOLATION if this host
  // does not count it.
  absl::StatusOr<absl::Duration> CpuTime();

  // Makes everything count from 0. Fails with FailedPrecondition if a process
  // lives in the group or memory is charged to it, and with Unimplemented if
  // this kernel cannot do it. Does not look for processes if the last Usage()
  // has found none: from then on the caller must let none enter.
  absl::Status Restart();

 private:
  // Totals since the group was made. The peak, which the kernel restarts
  // itself, is left out.
  CgroupUsage Total();
  // Without OOM kills.
  CgroupUsage TotalTimes();
  uint64_t ReadOomKills();
  absl::Duration TotalCpuTime();

  CgroupVersion version_;
  CounterFile processes_;
  CounterFile memory_;
  CounterFile peak_;
  CounterFile oom_;
  // v2: also user and system time.
  CounterFile cpu_;
  CounterFile cpu_user_;
  CounterFile cpu_system_;
  // The totals at the last restart.
  CgroupUsage base_;
  // The number that Usage() has read last, if no process was left by then.
  std::optional<uint64_t> last_oom_kills_;
  // No value until it is read after a restart.
  std::optional<absl::Duration> base_cpu_time_ = absl::ZeroDuration();
};

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_CGROUP_COUNTERS_H_
