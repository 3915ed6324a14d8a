// The ids and control groups of one sandbox:
//
//   corral/sandbox-N       the root of the sandbox's cgroup namespace
//   |-- init               v2: init and the spawner
//   `-- run                the limits
//       |-- ...            one for each command, with the same limits
//
// The limits of a command's group bind nothing that those of run do not bind:
// they are there to be read, since most programs look at no group but their
// own. See cgroup_view.h in ../kernel.
//
// With v1, init and the spawner live in sandbox-N itself, which also has the
// limit of the disks' speed. With v2 they cannot: a group that hands
// controllers on holds no process. In a hierarchy of cpu alone, commands stay
// in sandbox-N, too, unless CPU time is limited.
//
// A limit of CPU time is also one of sandbox-N. The supervisor and the process
// that makes calls for commands then live where init does, as far as their CPU
// time is concerned, so that the work of a flood of output or of calls is done
// in the sandbox's own time. Run and the others in sandbox-N share it equally:
// the supervisor always gets to act.
//
// Where commands are the user of this process, there are no ids, and N is the
// pid of this process. There may be no groups either: then Create() is not
// called, and UseMarks() is.
//
// Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_SANDBOX_GROUPS_H_
#define SANDBOX_SUPERVISOR_SANDBOX_GROUPS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/id_range.h"
#include "sandbox/supervisor/command_group.h"
#include "sandbox/supervisor/marked_group.h"

namespace sandbox {

class SandboxGroups {
 public:
  // Acquires ids and makes the groups of the sandbox and of init.
  absl::Status Create(const CgroupHost& host);
  // Makes the groups of commands be marks. See Marks::Create().
  absl::Status UseMarks(pid_t init, std::function<pid_t()> spawner);
  // The first of the host's user ids that the sandbox has, or kNoRange.
  uint32_t first_id() const { return ids_.first_id(); }
  // True if control groups limit the sandbox.
  bool exist() const { return sandbox_.valid(); }
  const Cgroup& sandbox() const { return sandbox_; }
  // The group of init and the spawner.
  const Cgroup& home() const { return home_.valid() ? home_ : sandbox_; }

  // Makes the parent of the commands' groups, once init lives in its own. Does
  // nothing if there are none.
  absl::Status CreateRun();
  // Sets the limits of all commands together, if there are groups. That of CPU
  // time is one of the sandbox.
  absl::Status SetLimits(const CgroupLimits& limits);
  // Lets the CPU time of a process, which has one thread, count in that limit;
  // 0 is the calling process, which leaves the groups in Remove(). Without such
  // a limit, it does nothing.
  absl::Status Charge(pid_t pid);
  // Limits how fast all commands together use each disk. Costs some
  // milliseconds. Fails with ISOLATION if this host cannot.
  absl::Status LimitDiskSpeed(const DiskSpeed& speed);
  // Ends that limit. A process that waits for a disk cannot be killed until its
  // requests are carried out.
  void LiftDiskSpeed();
  // Returns the limits of a command's group.
  const CgroupLimits& command_limits() const { return command_limits_; }
  // Makes a group with these limits.
  absl::StatusOr<std::unique_ptr<CommandGroup>> MakeCommandGroup(
      const std::string& name) const;

  // Removes the groups, which are empty, and frees the ids.
  void Remove();

 private:
  // The group that has the limit of the disks' speed.
  const Cgroup& SpeedGroup() const;
  // Lets the spawner put processes into the group.
  absl::Status Delegate(Cgroup& group) const;

  CgroupHost host_;
  // Empty where commands are the user of this process.
  IdRange ids_;
  Cgroup sandbox_;
  // Invalid with v1.
  Cgroup home_;
  Cgroup run_;
  // Null if there are groups.
  std::shared_ptr<Marks> marks_;
  CgroupLimits command_limits_;
  bool disk_speed_limited_ = false;
  // The calling process was moved by Charge().
  bool charged_ = false;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_SANDBOX_GROUPS_H_
