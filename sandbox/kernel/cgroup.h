// The control groups of a sandbox: one for the sandbox, below it one for all
// its commands, which has the limits, and below that one for each execution.
// Uses cgroup v2 or v1 (one hierarchy for each controller), whichever has the
// controllers.
//
// Sources: Linux Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/*.rst.
//
// Not thread-safe.

#ifndef SANDBOX_KERNEL_CGROUP_H_
#define SANDBOX_KERNEL_CGROUP_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup_counters.h"
#include "sandbox/kernel/cgroup_limits.h"
#include "sandbox/kernel/disk_speed.h"

namespace sandbox {

// The name of a sandbox's group is this and its first user id >> 16.
constexpr char kSandboxCgroup[] = "sandbox-";
// The name of a sandbox's group is this and the pid of its supervisor if it has
// no ids of its own.
constexpr char kOwnUserCgroup[] = "sandbox-p";

// The place of the controllers on this host: the groups below which Corral
// makes its own.
struct CgroupHost {
  CgroupVersion version = CgroupVersion::kV2;
  // Directories. v2: one. v1: one for each hierarchy, in the order memory,
  // pids, cpu, cpuacct; controllers that are mounted together count once.
  std::vector<std::string> parents;
  // v1: the same of the hierarchies of cpuset (see cpuset.h) and blkio (see
  // disk_speed.h), in which only a sandbox's own group exists, since each one
  // that a command must enter costs it time. Empty if it is not mounted or not
  // writable. blkio also if it is one of `parents`: its limits do not count for
  // the groups below, which commands have there.
  std::string cpuset = {};
  std::string blkio = {};
  // v2: the directory of the calling process's group. v1: `parents` are those.
  std::string own = {};

  // Fails with ISOLATION (see failure.h) if the controller memory, pids or cpu
  // is missing or cannot be enabled for groups below, or if this process's user
  // may not make groups there.
  static absl::StatusOr<CgroupHost> Find();

  // v2: moves this process into a new group below its own, if Find() fails and
  // no other process is in that group: one that holds processes can hand no
  // controllers on. For a service or a container whose group belongs to it.
  static void MakeRoom();
};

// Owns one group, in every hierarchy. The destructor removes it, if no process
// lives in it.
class Cgroup {
 public:
  Cgroup() = default;
  Cgroup(Cgroup&& other) noexcept = default;
  Cgroup& operator=(Cgroup&& other) noexcept;
  ~Cgroup();

  // Makes <parent>/corral/<name>, and gives <parent>/corral its limits (see
  // cgroup_ceiling.h). First kills and removes what is left of an older group
  // with this name.
  static absl::StatusOr<Cgroup> Create(const CgroupHost& host,
                                       const std::string& name);
  // Kills what lives in <parent>/corral/<name>, removes the group and those
  // below it, and does nothing if there is none. Waits up to 1 s for processes.
  static absl::Status RemoveLeftOver(const CgroupHost& host,
                                     const std::string& name);
  // Returns the names of all groups below <parent>/corral, whoever made them.
  static std::set<std::string> List(const CgroupHost& host);

  // Sets the limits that are not 0. v1: without a limit of CPU time, commands
  // do not enter the hierarchy of cpu, if it has no other controller.
  absl::Status SetLimits(const CgroupLimits& limits);
  // v2: enables the controllers for groups below; from then on no process may
  // live in this one. v1: does nothing.
  absl::Status HandOn() const;
  // Limits how fast all processes of a sandbox use disks, or lifts the limit.
  // v2: of the group of all its commands. v1: of the group that Create() made.
  // See SetDiskSpeed().
  absl::Status LimitDiskSpeed(const DiskSpeed& speed) const;
  // Makes a group below this one, without limits of its own.
  absl::StatusOr<Cgroup> CreateChild(const std::string& name) const;

  // v2: lets `uid` put processes into this group and those below it with
  // CLONE_INTO_CGROUP. v1: does nothing.
  absl::Status Delegate(uid_t uid);

  CgroupVersion version() const { return version_; }
  // False if the group was default-constructed or removed.
  bool valid() const { return !directories_.empty(); }
  // The group's directory in each hierarchy that has it, that of cpuset last.
  std::vector<std::string> Directories() const;

  // Descriptors with which a process enters. v2: the directory, for
  // CLONE_INTO_CGROUP. v1: each `tasks` file, to write "0" to. Where
  // SetLimits() has left a hierarchy out, a process stays in the group in which
  // it was born there: the scheduler would have it wait behind all others once
  // more. Valid as long as this object.
  std::vector<int> EntryFds() const;

  // v1: moves the calling process into the group. v2: does nothing, since
  // processes are born in their group.
  absl::Status Enter() const;
  // v2: moves a process here from another group; slow, since it may wait for an
  // RCU grace period. v1: does nothing.
  absl::Status Take(pid_t pid) const;

  // Lets the CPU time of a process, which has one thread, count in this group
  // and its limit; 0 is the calling process. v1: it enters only the hierarchies
  // of cpu and cpuacct, since files that it writes stay charged to a group of
  // memory. v2: it enters the group, as slow as Take().
  absl::Status TakeForCpuTime(pid_t pid) const;
  // Moves the calling process, with all threads, from the group to that in
  // which `host` was found, or to the nearest one above it that still exists.
  // Slow, too.
  absl::Status LeaveFor(const CgroupHost& host) const;

  // Returns the processes in the group, without those in groups below.
  std::vector<pid_t> Pids() const;

  // Sends a signal to every process of the group. May miss processes that are
  // born meanwhile.
  void Signal(int signal) const;
  // Prevents new processes and sends SIGKILL to the present ones. Returns true
  // if no process is left, else the caller repeats the call: processes may take
  // any time to go, and kernels without cgroup.kill may miss one. Never waits.
  bool Kill() const;
  // Signals those processes of the group that belong to `process_group`, which
  // must be > 0.
  void SignalProcessGroup(int signal, pid_t process_group) const;

  // v1: see WatchOom(). v2: invalid; see CgroupLimits.kill_all_on_oom.
  absl::StatusOr<UniqueFd> OomEvents() const;

  // See CgroupCounters.
  CgroupUsage Usage() const;
  uint64_t OomKills() const;
  absl::StatusOr<absl::Duration> CpuTime() const;

  // Makes a group without limits of its own as good as a new one. Removing a
  // group and making one costs the kernel far more, above all with many mounts.
  // Fails if a process lives in it, if memory of earlier processes is charged
  // to it, or if the kernel cannot: then it must be removed.
  absl::Status Recycle();

  // Removes the group; does nothing if it was removed. Fails with
  // FailedPrecondition if a process or a group lives in it. EntryFds() and
  // counters begin anew then.
  absl::Status Remove();

 private:
  static constexpr size_t kNone = SIZE_MAX;

  Cgroup(CgroupVersion version, std::vector<std::string> directories,
         std::vector<std::string> further = {});
  static absl::Status RemoveLeftOver(
      CgroupVersion version, const std::vector<std::string>& directories);
  // Commands can read the groups, whatever the umask of a supervisor.
  absl::Status Make();
  absl::Status OpenEntries();
  CgroupCounters& Counters() const;
  // `number` "0" prevents new processes, "max" allows any number, in v1 and v2.
  absl::Status SetMaxProcesses(absl::string_view number) const;
  // With `process_group` 0, signals all processes.
  void SignalOnce(int signal, pid_t process_group) const;

  CgroupVersion version_ = CgroupVersion::kV2;
  // Empty if there is no group to remove.
  std::vector<std::string> directories_;
  // The directories in the hierarchies of blkio and cpuset, unless they are
  // among directories_: some hosts mount those controllers together with
  // others.
  std::vector<std::string> further_;
  // One for each of Directories(), in the same order.
  std::vector<UniqueFd> entries_;
  // The index of the entry that EntryFds() leaves out; if none, kNone.
  size_t spared_ = kNone;
  // The limit of processes that Recycle() restores.
  std::string max_processes_ = "max";
  // Null until they are read first.
  mutable std::unique_ptr<CgroupCounters> counters_;
  // True once Kill() has prevented new processes.
  mutable bool closed_ = false;
  // True if one of the hierarchies does not have the group any more, or cannot
  // be entered: then no command may get the group.
  bool unusable_ = false;
};

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_CGROUP_H_
