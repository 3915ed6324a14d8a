// The control groups of a sandbox: one for the sandbox, below it one for all
// its commands, which has the limits, and below that one for each execution.
// Works with cgroup v2 and with v1 (one hierarchy for each controller),
// whichever has the controllers.
//
// Sources: Linux Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/*.rst.
//
// Not thread-safe.

#ifndef SANDBOX_KERNEL_CGROUP_H_
#define SANDBOX_KERNEL_CGROUP_H_

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

enum class CgroupVersion { kV1, kV2 };

// A sandbox's group is called this and its first user id >> 16.
constexpr char kSandboxCgroup[] = "sandbox-";

// Where this host has the controllers, and the group below which Corral makes
// its own.
struct CgroupHost {
  CgroupVersion version = CgroupVersion::kV2;
  // Directories; v2: one; v1: one for each hierarchy, in the order memory,
  // pids, cpu, cpuacct, those that are mounted together once.
  std::vector<std::string> parents;

  // ISOLATION: memory, pids or cpu is not there, or cannot be handed
  // on to groups below.
  static absl::StatusOr<CgroupHost> Find();
};

struct CgroupLimits {
  // 0: none.
  uint64_t memory_bytes = 0;
  uint64_t pids = 0;
  uint64_t cpu_millis = 0;
};

struct CgroupUsage {
  uint64_t memory_peak_bytes = 0;
  uint64_t oom_kills = 0;
  uint64_t user_time_ns = 0;
  uint64_t system_time_ns = 0;
};

// One group, in every hierarchy. Removes it when destroyed, if nothing lives in
// it.
class Cgroup {
 public:
  Cgroup() = default;
  Cgroup(Cgroup&& other) noexcept = default;
  Cgroup& operator=(Cgroup&& other) noexcept;
  ~Cgroup();

  // Makes <parent>/corral/<name>. What is left of a group of this name is
  // killed and removed first.
  static absl::StatusOr<Cgroup> Create(const CgroupHost& host,
                                       const std::string& name);
  // The names of those that are there, whoever made them.
  static std::set<std::string> List(const CgroupHost& host);

  // Sets those that are given.
  absl::Status SetLimits(const CgroupLimits& limits) const;
  // v2: lets groups below have the controllers; from then on nothing may live
  // in this one. v1: nothing.
  absl::Status HandOn() const;
  // Makes a group below this one, without limits of its own.
  absl::StatusOr<Cgroup> CreateChild(const std::string& name) const;

  // v2: lets `uid` put processes into this group and into those made below it
  // with CLONE_INTO_CGROUP. v1: nothing.
  absl::Status Delegate(uid_t uid);

  CgroupVersion version() const { return version_; }
  // There is one.
  bool valid() const { return !directories_.empty(); }

  // What a process needs to enter: v2 the directory; v1 each `tasks` file, to
  // write "0" to. Valid as long as this.
  std::vector<int> EntryFds() const;

  // v1: moves the calling process into the group. v2: nothing, it is to be born
  // there.
  absl::Status Enter() const;
  // v2: moves a process here from another group. Slow: this may wait for an RCU
  // grace period. v1: nothing.
  absl::Status Take(pid_t pid) const;

  // Processes in the group, not in those below.
  std::vector<pid_t> Pids() const;

  // Sends to every process of the group. Processes that come and go meanwhile
  // may be missed.
  void Signal(int signal) const;
  // Prevents new processes and kills those there are. They may take any time to
  // go, and before the kernel has cgroup.kill one may be missed: true only when
  // none is left, else it is to be called again. Never waits.
  bool Kill() const;
  // The same for those that are of a process group as well, > 0. One that is
  // born meanwhile may be missed.
  void SignalProcessGroup(int signal, pid_t process_group) const;

  CgroupUsage Usage() const;
  // What all its processes have used, ended ones included. ISOLATION:
  // this host does not count it.
  absl::StatusOr<absl::Duration> CpuTime() const;

  // Removes the group. FailedPrecondition: something lives in it. Harmless if
  // repeated.
  absl::Status Remove();

 private:
  Cgroup(CgroupVersion version, std::vector<std::string> directories);
  // Waits up to 1 s for what it kills.
  static absl::Status RemoveLeftOver(
      CgroupVersion version, const std::vector<std::string>& directories);
  absl::Status Make();
  // Of a process group only, if it is not 0.
  void SignalOnce(int signal, pid_t process_group) const;

  CgroupVersion version_ = CgroupVersion::kV2;
  // Empty: nothing to remove.
  std::vector<std::string> directories_;
  std::vector<UniqueFd> entries_;
};

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_CGROUP_H_
