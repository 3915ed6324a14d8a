// The creation of a sandbox: what was prepared is completed, ahead or with the
// request, and claimed by the request.

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/program_code.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/disk_speed.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/process_limits.h"
#include "sandbox/kernel/project_quota.h"
#include "sandbox/kernel/user_namespace.h"
#include "sandbox/kernel/workspace.h"
#include "sandbox/supervisor/confinement.h"
#include "sandbox/supervisor/construction_times.h"
#include "sandbox/supervisor/sandbox_shape.h"
#include "sandbox/supervisor/spec_mounts.h"
#include "sandbox/supervisor/supervisor.h"

namespace sandbox {
namespace {

using Step = ConstructionTimes::Step;

// The user of corral-egress in the sandbox's range of ids. Nothing inside runs
// as this user.
constexpr uint32_t kEgressId = 65533;

// Returns the id that this process has for a user of the sandbox. Without ids
// of its own, it is this process's user, or one that no sandbox has.
uid_t UserOf(uint32_t first_id, uint32_t id) {
  if (first_id != kNoRange) {
    return first_id + id;
  }
  return id != kCommandId && HasId(id) ? id : ::geteuid();
}

}  // namespace

void Supervisor::CompleteSandbox(uint64_t request_id,
                                 const wire::SandboxSpec& spec) {
  if (state_ == State::kEnded) {
    return;  // what was prepared has just failed
  }
  if (state_ != State::kNew) {
    Reply(request_id,
          MakeFailure(wire::Reply::FAULT, "the sandbox was completed before"));
    return;
  }
  if (spec.SerializeAsString() == ProfileOnly(spec).SerializeAsString()) {
    Reply(request_id, prepared_);
    return;
  }
  absl::Status completed = prepared_;
  if (!CanBeCompletedAhead(spec)) {
    completed = MakeFailure(wire::Reply::FAULT,
                            "the sandbox cannot be completed ahead");
  }
  if (completed.ok()) {
    completed = Complete(spec);
  }
  if (completed.ok()) {
    completed = Seal();
  }
  Reply(request_id, completed);
  if (completed.ok()) {
    shape_ = ShapeOf(spec);
    Enter(State::kComplete);
  } else {
    Abandon();
  }
}

void Supervisor::CreateSandbox(uint64_t request_id,
                               const wire::SandboxSpec& spec) {
  if (state_ == State::kEnded) {
    return;  // what was prepared has just failed; the server starts another
  }
  if (state_ != State::kNew && state_ != State::kComplete) {
    Reply(request_id,
          MakeFailure(wire::Reply::FAULT, "the sandbox was created before"));
    return;
  }
  const absl::Status claimed = prepared_.ok() ? Claim(spec) : prepared_;
  if (absl::IsAborted(claimed)) {
    Fail(wire::SandboxEnd::INIT_DIED, std::string(claimed.message()));
    return;
  }
  wire::FromSupervisor reply = ReplyOf(request_id, claimed);
  // Their memory is unmapped after the reply was sent, since that takes long.
  const ConstructionTimes times = std::exchange(construction_.times, {});
  if (claimed.ok()) {
    trace_ = times.ToWire();
    *reply.mutable_reply()->mutable_trace() = trace_;
  }
  control_.Send(std::move(reply));
  if (claimed.ok()) {
    Enter(State::kReady);
    ForgetCodeLater();
  } else {
    Abandon();
  }
}

absl::Status Supervisor::Claim(const wire::SandboxSpec& spec) {
  construction_.times.Note(Step::kClaim);
  directory_ = spec.directory();
  const std::string executions = directory_ + "/executions";
  if (::mkdir(executions.c_str(), 0700) != 0 && errno != EEXIST) {
    return WithFailure(
        wire::Reply::STORAGE,
        absl::ErrnoToStatus(errno, absl::StrCat("mkdir ", executions)));
  }
  spares_.SetDirectory(executions);
  host_.ephemeral = spec.ephemeral();
  if (state_ == State::kComplete) {
    RETURN_IF_ERROR(CheckCompleted(spec));
  } else {
    RETURN_IF_ERROR(Complete(spec));
    RETURN_IF_ERROR(OpenWayOut(spec));
    RETURN_IF_ERROR(Seal());
  }
  shape_.Clear();
  lent_.clear();
  RETURN_IF_ERROR(CheckProcesses());
  return control_.Listen(directory_);
}

absl::Status Supervisor::CheckCompleted(const wire::SandboxSpec& spec) const {
  if (ShapeOf(spec).SerializeAsString() != shape_.SerializeAsString()) {
    return absl::AbortedError("a sandbox of another shape was completed");
  }
  const std::vector<WorkspaceMount> workspaces =
      WorkspacesOf(spec, groups_.first_id());
  for (size_t i = 0; i < workspaces.size(); ++i) {
    if (!IsStillLent(workspaces[i], lent_[i].get())) {
      return absl::AbortedError(absl::StrCat(
          workspaces[i].path, " was replaced since the sandbox was completed"));
    }
  }
  return absl::OkStatus();
}

absl::Status Supervisor::Complete(const wire::SandboxSpec& spec) {
  const ConstructionTimes& times = construction_.times;
  RETURN_IF_ERROR(Limit(spec));
  times.Note(Step::kLimits);
  const seccomp::Profile profile = ProfileOf(spec.profile());
  RETURN_IF_ERROR(CheckProfile(profile));
  const std::vector<WorkspaceMount> workspaces =
      WorkspacesOf(spec, groups_.first_id());
  ASSIGN_OR_RETURN(
      lent_, sandbox::Complete(construction_,
                               {workspaces, spec.memory_bytes(), profile}));
  const SpaceLimits space = {spec.disk_bytes(), spec.disk_inodes()};
  if (space.limited()) {
    // On the mounts, so that no path can lead elsewhere.
    ASSIGN_OR_RETURN(space_, SpaceKeeper::Begin(construction_.init, workspaces,
                                                lent_, space));
  }
  times.Note(Step::kWorkspaces);
  if (!CanBeCompletedAhead(spec)) {
    RETURN_IF_ERROR(Protect(PathsOf(workspaces, std::move(lent_),
                                    UserOf(groups_.first_id(), kCommandId))));
  }
  if (spec.profile() != profile_) {
    RETURN_IF_ERROR(ReplaceSpawner(groups_.home(), profile, construction_));
    RETURN_IF_ERROR(StartSpawner());
  }
  return groups_.exist() ? absl::OkStatus()
                         : LimitProcesses(construction_.spawner.pid,
                                          groups_.command_limits());
}

absl::Status Supervisor::OpenWayOut(const wire::SandboxSpec& spec) {
  if (spec.has_egress()) {
    ASSIGN_OR_RETURN(
        way_out_, WayOut::Open(loop_.get(), construction_,
                               UserOf(groups_.first_id(), kEgressId),
                               directory_, spec.egress(), DirectoriesOf(spec)));
    construction_.times.Note(Step::kWayOut);
  }
  return absl::OkStatus();
}

absl::Status Supervisor::CheckProcesses() const {
  // The prepared processes may have died long ago.
  for (const Child* child : {&construction_.init, &construction_.spawner}) {
    if (IsExiting(child->pid)) {
      return absl::AbortedError("init or the spawner died");
    }
  }
  return absl::OkStatus();
}

absl::Status Supervisor::Seal() {
  RETURN_IF_ERROR(CheckProcesses());
  RETURN_IF_ERROR(groups_.Charge(0));
  if (mode_calls_.has_value()) {
    RETURN_IF_ERROR(groups_.Charge(mode_calls_->pid()));
  }
  RETURN_IF_ERROR(control_.Open());
  const absl::Status confined =
      Confine(construction_.init.pidfd.get(),
              way_out_ == nullptr ? Listeners::kNone : Listeners::kOfWayOut);
  return confined.ok() || !InitEnds() ? confined
                                      : absl::AbortedError("init died");
}

absl::Status Supervisor::Limit(const wire::SandboxSpec& spec) {
  CgroupLimits limits;
  limits.memory_bytes = spec.memory_bytes();
  limits.pids = spec.pids();
  limits.cpu_millis = spec.cpu_millis();
  limits.kill_all_on_oom = spec.kill_all_on_oom();
  host_.kill_all_on_oom = spec.kill_all_on_oom();
  host_.file_bytes = spec.file_bytes();
  RETURN_IF_ERROR(groups_.SetLimits(limits));
  RETURN_IF_ERROR(spares_.LimitGroups(groups_.command_limits()));
  const DiskSpeed speed = {spec.disk_bytes_per_second(),
                           spec.disk_operations_per_second()};
  if (speed.limited()) {
    RETURN_IF_ERROR(groups_.LimitDiskSpeed(speed));
  }
  quota_.SetLimit(spec.output_bytes());
  return absl::OkStatus();
}

absl::Status Supervisor::CheckProfile(seccomp::Profile profile) const {
  // A command that mounts the control groups anew owns those that are below its
  // own, and could hide its processes there.
  if (profile == seccomp::Profile::kNested && groups_.exist() &&
      groups_.first_id() == kNoRange) {
    return MakeFailure(wire::Reply::ISOLATION,
                       "profile nested needs user ids that commands do not "
                       "share with corrald, or a host without control groups; "
                       "run corrald as root of the host");
  }
  return absl::OkStatus();
}

absl::Status Supervisor::Protect(std::vector<ReadOnlyPaths> paths) {
  if (!paths.empty()) {
    ASSIGN_OR_RETURN(
        protection_,
        PathProtection::Begin(
            loop_.get(), construction_.init, std::move(paths),
            [this](const absl::Status& why) { OnProtectionLost(why); }));
    construction_.times.Note(Step::kProtection);
  }
  return absl::OkStatus();
}

}  // namespace sandbox
