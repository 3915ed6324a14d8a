// Prepares a sandbox of which only the profile is known.

#include <sys/epoll.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/instant.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/user_namespace.h"
#include "sandbox/supervisor/mode_calls.h"
#include "sandbox/supervisor/oom_log.h"
#include "sandbox/supervisor/supervisor.h"

namespace sandbox {

seccomp::Profile Supervisor::ProfileOf(wire::SandboxSpec::Profile profile) {
  if (profile == wire::SandboxSpec::DEFAULT) {
    return seccomp::Profile::kDefault;
  }
  if (profile == wire::SandboxSpec::DEBUG) {
    return seccomp::Profile::kDebug;
  }
  return profile == wire::SandboxSpec::NESTED ? seccomp::Profile::kNested
                                              : seccomp::Profile::kStrict;
}

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

}  // namespace sandbox
