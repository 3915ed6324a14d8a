#include "sandbox/supervisor/sandbox_groups.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/user_namespace.h"

namespace sandbox {

absl::Status SandboxGroups::Create(const CgroupHost& host) {
  host_ = host;
  std::string name = absl::StrCat(kOwnUserCgroup, ::getpid());
  if (!CommandsAreThisUser()) {
    ASSIGN_OR_RETURN(ids_, IdRange::Acquire());
    // No other sandbox on this host has this range, so the name is unique.
    name = absl::StrCat(kSandboxCgroup, ids_.first_id() >> 16);
  }
  ASSIGN_OR_RETURN(sandbox_, Cgroup::Create(host, name));
  RETURN_IF_ERROR(Delegate(sandbox_));
  if (host.version == CgroupVersion::kV2) {
    ASSIGN_OR_RETURN(home_, sandbox_.CreateChild("init"));
  }
  return absl::OkStatus();
}

absl::Status SandboxGroups::UseMarks(pid_t init,
                                     std::function<pid_t()> spawner) {
  ASSIGN_OR_RETURN(marks_, Marks::Create(init, std::move(spawner)));
  return absl::OkStatus();
}

absl::Status SandboxGroups::Delegate(Cgroup& group) const {
  // This process's user owns the group already.
  return first_id() == kNoRange ? absl::OkStatus() : group.Delegate(first_id());
}

absl::Status SandboxGroups::CreateRun() {
  if (!exist()) {
    return absl::OkStatus();
  }
  // The limits apply to commands only. If they applied to init and the spawner,
  // the kernel would kill those once files in memory or shared memory, which no
  // process holds, have used up the limit.
  ASSIGN_OR_RETURN(run_, sandbox_.CreateChild("run"));
  return run_.HandOn();
}

absl::Status SandboxGroups::SetLimits(const CgroupLimits& limits) {
  CgroupLimits together = limits;
  // All processes of run are those of all commands.
  together.kill_all_on_oom = false;
  if (exist()) {
    CgroupLimits of_sandbox;
    of_sandbox.cpu_millis = limits.cpu_millis;
    // First: with v1, no group may have more CPU time than the one above it.
    RETURN_IF_ERROR(sandbox_.SetLimits(of_sandbox));
    RETURN_IF_ERROR(run_.SetLimits(together));
  }
  command_limits_ = limits;
  return absl::OkStatus();
}

const Cgroup& SandboxGroups::SpeedGroup() const {
  return sandbox_.version() == CgroupVersion::kV2 ? run_ : sandbox_;
}

absl::Status SandboxGroups::LimitDiskSpeed(const DiskSpeed& speed) {
  if (!exist()) {
    return MakeFailure(wire::Reply::ISOLATION,
                       "a limit of the speed of disks needs control groups, "
                       "and this host gives corrald none; `corral info` says "
                       "why");
  }
  disk_speed_limited_ = true;
  return SpeedGroup().LimitDiskSpeed(speed);
}

void SandboxGroups::LiftDiskSpeed() {
  if (!disk_speed_limited_) {
    return;
  }
  const absl::Status lifted = SpeedGroup().LimitDiskSpeed({});
  if (!lifted.ok()) {
    LOG(WARNING) << "cannot lift the limit of the disks' speed: "
                 << lifted.ToString();
  }
  disk_speed_limited_ = false;
}

absl::Status SandboxGroups::Charge(pid_t pid) {
  if (command_limits_.cpu_millis == 0) {
    return absl::OkStatus();
  }
  // A process that could not leave the group would keep it from being removed.
  if (host_.version == CgroupVersion::kV2 &&
      ::access((host_.own + "/cgroup.procs").c_str(), W_OK) != 0) {
    return absl::OkStatus();
  }
  charged_ = charged_ || pid == 0;
  return home().TakeForCpuTime(pid);
}

absl::StatusOr<std::unique_ptr<CommandGroup>> SandboxGroups::MakeCommandGroup(
    const std::string& name) const {
  if (!exist()) {
    return std::make_unique<MarkedGroup>(marks_);
  }
  ASSIGN_OR_RETURN(Cgroup group, run_.CreateChild(name));
  RETURN_IF_ERROR(group.SetLimits(command_limits_));
  RETURN_IF_ERROR(Delegate(group));
  return std::make_unique<KernelCommandGroup>(std::move(group));
}

void SandboxGroups::Remove() {
  (void)run_.Remove();
  if (charged_) {
    const absl::Status left = home().LeaveFor(host_);
    if (!left.ok()) {
      LOG(WARNING) << "cannot leave the sandbox's control group: "
                   << left.ToString();
    }
    charged_ = false;
  }
  (void)home_.Remove();
  const absl::Status removed = sandbox_.Remove();
  if (removed.ok()) {
    ids_.Release();
  } else {
    LOG(WARNING) << "cannot remove the sandbox's control group: "
                 << removed.ToString();
  }
}

}  // namespace sandbox
