// The creation of a sandbox: one is prepared, and completed with the request.

#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/instant.h"
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
#include "sandbox/supervisor/mode_calls.h"
#include "sandbox/supervisor/oom_log.h"
#include "sandbox/supervisor/spec_mounts.h"
#include "sandbox/supervisor/supervisor.h"

namespace sandbox {
namespace {

using Step = ConstructionTimes::Step;

// A later server may ask for a profile that this supervisor does not know.
seccomp::Profile ProfileOf(wire::SandboxSpec::Profile profile) {
  if (profile == wire::SandboxSpec::DEFAULT) {
    return seccomp::Profile::kDefault;
  }
  if (profile == wire::SandboxSpec::DEBUG) {
    return seccomp::Profile::kDebug;
  }
  return profile == wire::SandboxSpec::NESTED ? seccomp::Profile::kNested
                                              : seccomp::Profile::kStrict;
}

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

absl::Status Supervisor::PrepareProcesses() {
  const Instant begin = Instant::Now();
  const bool own_user = CommandsAreThisUser();
  if (own_user) {
    RETURN_IF_ERROR(CheckIsNotHostRoot());
  }
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  if (host.ok()) {
    RETURN_IF_ERROR(groups_.Create(*host));
  } else if (!own_user) {
    return host.status();
  }
  ASSIGN_OR_RETURN(construction_,
                   Construct(groups_.first_id(), groups_.sandbox(),
                             groups_.home(), ProfileOf(profile_)));
  construction_.times.SetBegin(begin);
  init_stat_ = OpenStat(construction_.init.pid);
  if (!groups_.exist()) {
    RETURN_IF_ERROR(groups_.UseMarks(
        construction_.init.pid, [this] { return construction_.spawner.pid; }));
  }
  return groups_.CreateRun();
}

absl::Status Supervisor::Prepare() {
  RETURN_IF_ERROR(PrepareProcesses());
  spares_.SetGroups([this](const std::string& name) {
    return groups_.MakeCommandGroup(name);
  });
  host_.loop = loop_.get();
  host_.timers = loop_.get();
  host_.spares = &spares_;
  host_.storage = &storage_;
  host_.quota = &quota_;
  host_.sync = &sync_;
  host_.devpts = construction_.devpts.get();
  if (groups_.first_id() != kNoRange) {
    host_.first_id = groups_.first_id();
  }
  host_.on_state = [this](const wire::ExecutionRecord& record) {
    OnState(record);
  };
  host_.on_output = [this](wire::OutputChange change) {
    control_.SendOutputChange(std::move(change));
  };
  host_.init_ends = [this] { return InitEnds(); };
  host_.may_be_oom_victim = [this](pid_t pid) {
    return MayBeOomVictim(pid, groups_.first_id());
  };
  loop_->Watch(construction_.init.pidfd.get(), EPOLLIN,
               [this](uint32_t) { OnInitExit(); });
  RETURN_IF_ERROR(strange_children_.Watch());
  return StartSpawner();
}

absl::Status Supervisor::StartSpawner() {
  ASSIGN_OR_RETURN(
      spawner_,
      Spawner::Create(
          loop_.get(), std::move(construction_.spawner_socket),
          construction_.exchange, [this](pid_t pid) { return IsKnown(pid); },
          [this] { OnSpawnerExit(); }));
  host_.spawner = spawner_.get();
  mode_calls_.reset();
  if (construction_.listener.valid()) {
    ASSIGN_OR_RETURN(
        SideProcess calls,
        StartModeCalls(std::move(construction_.listener),
                       construction_.init.pidfd, groups_.first_id()));
    mode_calls_.emplace(std::move(calls));
  }
  spares_.PrepareGroup();
  return absl::OkStatus();
}

void Supervisor::CreateSandbox(uint64_t request_id,
                               const wire::SandboxSpec& spec) {
  if (state_ == State::kEnded) {
    return;  // what was prepared has just failed; the server starts another
  }
  if (state_ != State::kNew) {
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
  if (claimed.ok()) {
    trace_ = std::exchange(construction_.times, {}).ToWire();
    *reply.mutable_reply()->mutable_trace() = trace_;
  }
  control_.Send(std::move(reply));
  if (claimed.ok()) {
    Enter(State::kReady);
    // Most of it has only made the sandbox.
    loop_->WhenIdle(ForgetCode);
  } else {
    Abandon();
  }
}

absl::Status Supervisor::Claim(const wire::SandboxSpec& spec) {
  const ConstructionTimes& times = construction_.times;
  times.Note(Step::kClaim);
  directory_ = spec.directory();
  const std::string executions = directory_ + "/executions";
  if (::mkdir(executions.c_str(), 0700) != 0 && errno != EEXIST) {
    return WithFailure(
        wire::Reply::STORAGE,
        absl::ErrnoToStatus(errno, absl::StrCat("mkdir ", executions)));
  }
  spares_.SetDirectory(executions);
  RETURN_IF_ERROR(Limit(spec));
  times.Note(Step::kLimits);
  const seccomp::Profile profile = ProfileOf(spec.profile());
  RETURN_IF_ERROR(CheckProfile(profile));
  const std::vector<WorkspaceMount> workspaces =
      WorkspacesOf(spec, groups_.first_id());
  ASSIGN_OR_RETURN(
      std::vector<UniqueFd> mounts,
      Complete(construction_, {workspaces, spec.memory_bytes(), profile}));
  const SpaceLimits space = {spec.disk_bytes(), spec.disk_inodes()};
  if (space.limited()) {
    // On the mounts, so that no path can lead elsewhere.
    ASSIGN_OR_RETURN(space_, SpaceKeeper::Begin(construction_.init, workspaces,
                                                mounts, space));
  }
  times.Note(Step::kWorkspaces);
  RETURN_IF_ERROR(Protect(PathsOf(workspaces, std::move(mounts),
                                  UserOf(groups_.first_id(), kCommandId))));
  if (spec.profile() != profile_) {
    RETURN_IF_ERROR(ReplaceSpawner(groups_.home(), profile, construction_));
    RETURN_IF_ERROR(StartSpawner());
  }
  if (!groups_.exist()) {
    RETURN_IF_ERROR(
        LimitProcesses(construction_.spawner.pid, groups_.command_limits()));
  }
  if (spec.has_egress()) {
    ASSIGN_OR_RETURN(
        way_out_, WayOut::Open(loop_.get(), construction_,
                               UserOf(groups_.first_id(), kEgressId),
                               directory_, spec.egress(), DirectoriesOf(spec)));
    times.Note(Step::kWayOut);
  }
  return Seal();
}

absl::Status Supervisor::Seal() {
  // The prepared processes may have died long ago.
  for (const Child* child : {&construction_.init, &construction_.spawner}) {
    if (IsExiting(child->pid)) {
      return absl::AbortedError("init or the spawner died");
    }
  }
  RETURN_IF_ERROR(groups_.Charge(0));
  if (mode_calls_.has_value()) {
    RETURN_IF_ERROR(groups_.Charge(mode_calls_->pid()));
  }
  RETURN_IF_ERROR(control_.Listen(directory_));
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
