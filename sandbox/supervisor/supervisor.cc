#include "sandbox/supervisor/supervisor.h"

#include <sys/epoll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/supervisor/background.h"
#include "sandbox/supervisor/command_group.h"
#include "sandbox/supervisor/oom_log.h"

namespace sandbox {
namespace {

// Pauses between attempts to remove a group whose processes were killed: the
// first, and the longest while a process does not go.
constexpr absl::Duration kRemoveRetry = absl::Milliseconds(2);
constexpr absl::Duration kLongestRemoveRetry = absl::Milliseconds(100);
// Between attempts to write to a disk that fails.
constexpr absl::Duration kStorageRetry = absl::Milliseconds(200);

// The version of supervisor.proto.
constexpr uint32_t kSchemaVersion = 1;

}  // namespace

Supervisor::Supervisor(std::unique_ptr<EventLoop> loop, PacketSocket control)
    : loop_(std::move(loop)),
      storage_([this] { ReportStorage(); }),
      quota_(loop_.get()),
      sync_(loop_.get(), loop_.get(), &storage_,
            std::make_unique<BackgroundThread>()),
      spares_(loop_.get(), &storage_),
      control_(
          loop_.get(), std::move(control),
          [this](wire::ToSupervisor request) { OnRequest(std::move(request)); },
          [this] { return Snapshot(); }, [this] { OnDisconnect(); }) {}

Supervisor::~Supervisor() = default;

void Supervisor::Run() {
  // Before the request is read, so that a server can keep a prepared supervisor
  // for the next request.
  prepared_ = Prepare();
  loop_->Run();
}

void Supervisor::OnRequest(wire::ToSupervisor request) {
  const uint64_t id = request.request_id();
  switch (request.request_case()) {
    case wire::ToSupervisor::kCreateSandbox:
      CreateSandbox(id, request.create_sandbox());
      break;
    case wire::ToSupervisor::kStartExecution:
      StartExecution(id, std::move(*request.mutable_start_execution()));
      break;
    case wire::ToSupervisor::kSignal:
      With(id, request.signal().execution_id(),
           [&](SupervisedCommand& command) {
             Reply(id, command.Signal(request.signal()));
           });
      break;
    case wire::ToSupervisor::kResize:
      With(id, request.resize().execution_id(),
           [&](SupervisedCommand& command) {
             Reply(id, command.Resize(request.resize().rows(),
                                      request.resize().columns()));
           });
      break;
    case wire::ToSupervisor::kWriteInput:
      With(id, request.write_input().execution_id(),
           [&](SupervisedCommand& command) {
             command.WriteInput(request.write_input(),
                                [this, id](const absl::Status& status,
                                           const wire::InputState& input) {
                                  ReplyInput(id, status, input);
                                });
           });
      break;
    case wire::ToSupervisor::kAcknowledge: {
      const auto found = commands_.find(request.acknowledge().execution_id());
      if (found != commands_.end()) {
        found->second->Acknowledge(request.acknowledge().stream(),
                                   request.acknowledge().offset());
      }
      break;
    }
    case wire::ToSupervisor::kDeleteExecution:
      DeleteExecution(id, request.delete_execution().execution_id());
      break;
    case wire::ToSupervisor::kDeleteSandbox:
      DeleteSandbox(id, request.delete_sandbox().cause());
      break;
    case wire::ToSupervisor::REQUEST_NOT_SET:
      Reply(id, MakeFailure(wire::Reply::UNKNOWN_REQUEST,
                            "this supervisor does not know the request"));
      break;
  }
}

void Supervisor::Reply(uint64_t request_id, const absl::Status& status) {
  ReplyInput(request_id, status, wire::InputState());
}

void Supervisor::ReplyInput(uint64_t request_id, const absl::Status& status,
                            const wire::InputState& input) {
  wire::FromSupervisor message;
  wire::Reply* reply = message.mutable_reply();
  reply->set_request_id(request_id);
  reply->set_failure(FailureOf(status));
  reply->set_message(std::string(status.message()));
  *reply->mutable_input() = input;
  control_.Send(std::move(message));
}

template <typename Action>
void Supervisor::With(uint64_t request_id, const std::string& id,
                      Action action) {
  const auto found = commands_.find(id);
  if (found == commands_.end()) {
    Reply(request_id, MakeFailure(wire::Reply::NO_SUCH_EXECUTION,
                                  absl::StrCat("no execution ", id)));
    return;
  }
  action(*found->second);
}

absl::Status Supervisor::Prepare() {
  ASSIGN_OR_RETURN(ids_, IdRange::Acquire());
  ASSIGN_OR_RETURN(const CgroupHost host, CgroupHost::Find());
  // No other sandbox on this host has this range, so the name is unique.
  ASSIGN_OR_RETURN(
      cgroup_, Cgroup::Create(
                   host, absl::StrCat(kSandboxCgroup, ids_.first_id() >> 16)));
  RETURN_IF_ERROR(cgroup_.Delegate(ids_.first_id()));
  if (host.version == CgroupVersion::kV2) {
    ASSIGN_OR_RETURN(home_, cgroup_.CreateChild("init"));
  }
  ASSIGN_OR_RETURN(
      construction_,
      Construct(ids_.first_id(), cgroup_,
                host.version == CgroupVersion::kV2 ? home_ : cgroup_));
  // The limits apply to commands only. If they applied to init and the spawner,
  // the kernel would kill those once files in memory or shared memory, which no
  // process holds, have used up the limit.
  ASSIGN_OR_RETURN(run_, cgroup_.CreateChild("run"));
  RETURN_IF_ERROR(run_.HandOn());
  spares_.SetGroups(
      [this](const std::string& name) { return MakeGroup(name); });
  host_.loop = loop_.get();
  host_.timers = loop_.get();
  host_.spares = &spares_;
  host_.storage = &storage_;
  host_.quota = &quota_;
  host_.sync = &sync_;
  host_.devpts = construction_.devpts.get();
  host_.on_state = [this](const wire::ExecutionRecord& record) {
    OnState(record);
  };
  host_.on_output = [this](wire::OutputChange change) {
    control_.SendOutputChange(std::move(change));
  };
  host_.init_ends = [this] { return InitEnds(); };
  host_.may_be_oom_victim = [this](pid_t pid) {
    return MayBeOomVictim(pid, ids_.first_id());
  };
  loop_->Watch(construction_.init.pidfd.get(), EPOLLIN,
               [this](uint32_t) { OnInitExit(); });
  return StartSpawner();
}

absl::Status Supervisor::StartSpawner() {
  ASSIGN_OR_RETURN(
      spawner_,
      Spawner::Create(loop_.get(), std::move(construction_.spawner_socket),
                      construction_.exchange, [this] { OnSpawnerExit(); }));
  host_.spawner = spawner_.get();
  spares_.PrepareGroup();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CommandGroup>> Supervisor::MakeGroup(
    const std::string& name) {
  ASSIGN_OR_RETURN(Cgroup group, run_.CreateChild(name));
  RETURN_IF_ERROR(group.Delegate(ids_.first_id()));
  return std::make_unique<KernelCommandGroup>(std::move(group));
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
  Reply(request_id, claimed);
  state_ = claimed.ok() ? State::kReady : State::kEnded;
  if (!claimed.ok()) {
    CleanUp();
    loop_->Stop();
  }
}

absl::Status Supervisor::Claim(const wire::SandboxSpec& spec) {
  directory_ = spec.directory();
  const std::string executions = directory_ + "/executions";
  if (::mkdir(executions.c_str(), 0700) != 0 && errno != EEXIST) {
    return WithFailure(
        wire::Reply::STORAGE,
        absl::ErrnoToStatus(errno, absl::StrCat("mkdir ", executions)));
  }
  spares_.SetDirectory(executions);
  CgroupLimits limits;
  limits.memory_bytes = spec.memory_bytes();
  limits.pids = spec.pids();
  limits.cpu_millis = spec.cpu_millis();
  RETURN_IF_ERROR(run_.SetLimits(limits));
  quota_.SetLimit(spec.output_bytes());
  RETURN_IF_ERROR(
      Complete(construction_,
               {{spec.workspace(), spec.workspace_read_only(), ids_.first_id()},
                spec.memory_bytes()}));
  // The prepared processes may have died long ago.
  for (const Child* child : {&construction_.init, &construction_.spawner}) {
    if (IsExiting(child->pid)) {
      return absl::AbortedError("init or the spawner died");
    }
  }
  return control_.Listen(directory_);
}

void Supervisor::OnDisconnect() {
  if (state_ == State::kNew) {
    state_ = State::kEnded;
    CleanUp();
    loop_->Stop();
  }
}

void Supervisor::StartExecution(uint64_t request_id,
                                wire::StartExecution start) {
  const std::string id = start.id();
  if (state_ != State::kReady) {
    Reply(request_id, MakeFailure(wire::Reply::SANDBOX_NOT_READY,
                                  "the sandbox is not ready"));
    return;
  }
  if (commands_.count(id) != 0) {
    Reply(request_id, MakeFailure(wire::Reply::EXECUTION_EXISTS,
                                  absl::StrCat("execution ", id, " exists")));
    return;
  }
  loop_->WhenIdle([this] {
    if (state_ == State::kReady) {
      spares_.PrepareFiles();
    }
  });
  loop_->WhenIdle([this] {
    if (state_ == State::kReady) {
      spares_.PrepareGroup();
    }
  });
  auto command = std::make_unique<SupervisedCommand>(&host_, std::move(start));
  const absl::Status prepared = command->Prepare();
  if (!prepared.ok()) {
    Reply(request_id, prepared);
    return;
  }
  SupervisedCommand& added = *(commands_[id] = std::move(command));
  added.Start([this, request_id] { Reply(request_id, absl::OkStatus()); });
}

void Supervisor::OnState(const wire::ExecutionRecord& record) {
  wire::FromSupervisor message;
  *message.mutable_execution() = record;
  control_.Send(std::move(message));
  const std::string& id = record.id();
  const auto found = commands_.find(id);
  if (found == commands_.end() || !found->second->ended()) {
    return;
  }
  loop_->WhenIdle([this, id] {
    const auto ended = commands_.find(id);
    if (ended != commands_.end()) {
      ended->second->RemoveCgroup();
    }
  });
  // Deferred: the execution is on the stack.
  loop_->Defer([this, id] {
    TryRemove(id, kRemoveRetry);
    TryEnd();
  });
}

void Supervisor::DeleteExecution(uint64_t request_id, const std::string& id) {
  With(request_id, id, [&](SupervisedCommand& command) {
    removals_[id].push_back(request_id);
    if (removals_[id].size() > 1) {
      return;
    }
    command.Condemn(wire::ExitRecord::CLIENT_SIGNAL);
    command.Kill();
    loop_->Defer([this, id] { TryRemove(id, kRemoveRetry); });
  });
}

void Supervisor::TryRemove(const std::string& id, absl::Duration pause) {
  const auto found = commands_.find(id);
  if (removals_.count(id) == 0 || found == commands_.end() ||
      !found->second->ended()) {
    return;  // removed meanwhile, or not ended: its end calls this again
  }
  if (!found->second->RemoveCgroup()) {
    loop_->After(pause, [this, id, pause] {
      TryRemove(id, std::min(2 * pause, kLongestRemoveRetry));
    });
    return;
  }
  if (!found->second->RemoveFiles()) {
    loop_->After(kStorageRetry, [this, id] { TryRemove(id, kRemoveRetry); });
    return;
  }
  commands_.erase(found);
  for (const uint64_t request : removals_[id]) {
    Reply(request, absl::OkStatus());
  }
  removals_.erase(id);
}

void Supervisor::ReportStorage() {
  if (state_ == State::kReady || state_ == State::kDeleting) {
    wire::FromSupervisor message;
    message.mutable_storage()->set_failure(storage_.failure());
    control_.Send(std::move(message));
  }
}

wire::Snapshot Supervisor::Snapshot() const {
  wire::Snapshot snapshot;
  snapshot.set_ready(state_ == State::kReady);
  snapshot.set_schema_version(kSchemaVersion);
  snapshot.mutable_storage()->set_failure(storage_.failure());
  for (const auto& [id, command] : commands_) {
    *snapshot.add_executions() = command->report();
  }
  return snapshot;
}

}  // namespace sandbox
