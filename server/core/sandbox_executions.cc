// The executions of a sandbox: their start, their end and their deletion.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/instant.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/ascii_text.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/api/ids.h"
#include "server/core/execution.h"
#include "server/core/execution_records.h"
#include "server/core/execution_table.h"
#include "server/core/output_expiry.h"
#include "server/core/running_command.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_state.h"

namespace server {

using sandbox::MutexLock;

namespace {

// Returns at least 1, since 0 stands for a moment that has not come.
int64_t NanosSince(const sandbox::Instant& begin) {
  return std::max<int64_t>(sandbox::MonotonicNanoseconds() - begin.monotonic_ns,
                           1);
}

}  // namespace

void Sandbox::Start(NewExecution wanted, Started started) {
  if (wanted.id.empty()) {
    wanted.id = MakeId();
  }
  const ExecutionPtr execution = executions_.Admit(
      wanted.id, wanted.request, [&] { return Admit(wanted); },
      std::move(started));
  if (execution == nullptr) {
    return;
  }
  wire::StartExecution start;
  const bool traced = wanted.command.trace();
  if (traced) {
    start.set_trace_begin_ns(wanted.received.monotonic_ns);
    start.mutable_trace()->set_receive_unix_ns(wanted.received.unix_ns);
    start.mutable_trace()->set_admitted_ns(NanosSince(wanted.received));
  }
  start.set_id(wanted.id);
  start.set_report_delay_ns(absl::ToInt64Nanoseconds(wanted.report_delay));
  *start.mutable_command() = ToCommandSpec(wanted.command, spec_.workspace());
  *start.mutable_request() = std::move(wanted.request);
  auto done = [self = shared_from_this(), id = start.id(),
               admission = environment_.activity->BeginStart()](
                  const absl::Status& status) { self->OnStarted(id, status); };
  if (traced) {
    start.mutable_trace()->set_sent_ns(NanosSince(wanted.received));
  }
  if (const auto supervisor = this->supervisor(); supervisor != nullptr) {
    supervisor->Start(std::move(start), std::move(done));
  } else {
    done(sandbox::MakeFailure(wire::Reply::SUPERVISOR_GONE,
                              "the supervisor is gone"));
  }
}

void Sandbox::StartWhenKnown(NewExecution wanted, Started started) {
  AwaitKnown([self = shared_from_this(), wanted = std::move(wanted),
              started = std::move(started)](const absl::Status& known) mutable {
    if (known.ok()) {
      self->Start(std::move(wanted), std::move(started));
    } else {
      started(known);
    }
  });
}

// If the state changes before the supervisor is asked, the supervisor refuses.
absl::StatusOr<ExecutionTable::Entry> Sandbox::Admit(
    const NewExecution& wanted) {
  {
    MutexLock lock(&mutex_);
    if (state_.state() != SandboxState::State::kReady) {
      return SandboxNotReady(spec_.name(),
                             corral::v1::Sandbox::State_Name(state_.ToApi()));
    }
  }
  ExecutionTable::Entry entry;
  entry.execution =
      std::make_shared<Execution>(home_, wanted.id, wanted.command,
                                  wanted.request, wanted.received.monotonic_ns);
  entry.running =
      std::make_unique<RunningCommand>(environment_.activity, lifetime_);
  return entry;
}

void Sandbox::OnStarted(const std::string& id, const absl::Status& status) {
  switch (sandbox::FailureOf(status)) {
    case wire::Reply::NONE:
      executions_.AnswerStart(id);
      break;
    case wire::Reply::SUPERVISOR_GONE:
      // Only the disk shows whether the command had begun. If OnGone() has not
      // been called yet, it will read the disk.
      if (gone()) {
        EndThen([] {});
      }
      break;
    default:
      FailStart(id, ToStartError(id, status));
  }
}

absl::Status Sandbox::ToStartError(const std::string& id,
                                   const absl::Status& status) const {
  switch (sandbox::FailureOf(status)) {
    case wire::Reply::STORAGE:
      return StorageFailed("start of an execution", status);
    case wire::Reply::SANDBOX_NOT_READY: {
      // The deletion or the failure of the sandbox overtook the start. A
      // failure may not be reported yet.
      const corral::v1::Sandbox::State state = Describe().state();
      return SandboxNotReady(
          spec_.name(),
          corral::v1::Sandbox::State_Name(state == corral::v1::Sandbox::READY
                                              ? corral::v1::Sandbox::FAILED
                                              : state));
    }
    case wire::Reply::EXECUTION_EXISTS:
      return ExecutionExists(NameOf(id).ToString());
    case wire::Reply::ISOLATION:
      return Error(absl::StatusCode::kFailedPrecondition,
                   corral::v1::ISOLATION_UNAVAILABLE, status.message());
    case wire::Reply::UNKNOWN_REQUEST:
      return Error(absl::StatusCode::kFailedPrecondition,
                   corral::v1::ISOLATION_UNAVAILABLE,
                   "the sandbox was made by a version of Corral that gives "
                   "commands no user ids of their own");
    default:
      return ServerFault(absl::StrCat("start of ", NameOf(id).ToString()),
                         status);
  }
}

void Sandbox::FailStart(const std::string& id, const absl::Status& error) {
  // Callers get the error before the execution looks as if it had ended.
  const ExecutionPtr execution = executions_.FailStart(id, error);
  if (execution != nullptr && execution->MarkLost(WhyLost())) {
    execution->Notify();
  }
}

void Sandbox::OnExecution(const wire::ExecutionRecord& record) {
  if (!recovery_.KeepReport(record)) {
    Update(record);
  }
}

void Sandbox::Update(const wire::ExecutionRecord& record) {
  const ExecutionPtr execution = FindExecution(record.id());
  if (execution == nullptr) {
    return;
  }
  const bool ended = execution->Update(record);
  if (ended) {
    OnEnd(record.id(), execution);
  }
  execution->Notify();
  if (record.state() != wire::ExecutionRecord::STARTING) {
    executions_.AnswerStart(record.id());
  }
  if (ended) {
    // Comes last, when a caller of the start already watches the execution.
    EnforceRetention();
  }
}

void Sandbox::OnOutput(const wire::OutputChange& change) {
  const ExecutionPtr execution = FindExecution(change.execution_id());
  if (execution != nullptr) {
    execution->OnOutput(change.streams());
  }
}

void Sandbox::OnEnd(const std::string& id, const ExecutionPtr& execution) {
  executions_.EndRunning(id);
  ExpireOutput(execution, environment_.timers, &environment_.lanes->removals);
  retention_->Ended(execution);
  environment_.all_ended->Ended(execution);
}

void Sandbox::EnforceRetention() {
  retention_->Enforce();
  environment_.all_ended->Enforce();
}

void Sandbox::Lose(const std::string& id, const ExecutionPtr& execution) {
  const bool ended = execution->MarkLost(WhyLost());
  if (ended) {
    OnEnd(id, execution);
  }
  execution->Notify();
  executions_.AnswerStart(id);
  if (ended) {
    EnforceRetention();
  }
}

corral::v1::Loss Sandbox::WhyLost() const {
  corral::v1::Loss loss;
  MutexLock lock(&mutex_);
  loss.set_message(AsciiText(failure_.message()));
  switch (failure_.cause()) {
    case wire::SandboxEnd::HOST_RESTARTED:
      loss.set_cause(corral::v1::Loss::HOST_RESTARTED);
      break;
    case wire::SandboxEnd::INIT_DIED:
    case wire::SandboxEnd::SPAWNER_DIED:
    case wire::SandboxEnd::PROTECTION_LOST:
      loss.set_cause(corral::v1::Loss::SANDBOX_FAILED);
      break;
    default:  // the sentinels of protobuf's open enums
      loss.set_cause(corral::v1::Loss::SUPERVISOR_DIED);
  }
  return loss;
}

void Sandbox::DeleteExecution(const std::string& id, Done done) {
  if (FindExecution(id) == nullptr) {
    done(ExecutionNotFound(NameOf(id).ToString()));
    return;
  }
  bool first;
  {
    MutexLock lock(&mutex_);
    first = execution_deletions_.Add(id, std::move(done));
  }
  if (!first) {
    return;  // the first caller's request is already under way
  }
  // Until the recovery is over, the supervisor may live and own the execution.
  AwaitKnown([self = shared_from_this(), id](const absl::Status& known) {
    if (!known.ok()) {
      self->AnswerDeletion(id, known);
      return;
    }
    const auto supervisor = self->supervisor();
    if (supervisor == nullptr) {
      self->RemoveWithoutSupervisor(id);
      return;
    }
    supervisor->DeleteExecution(id, [self, id](const absl::Status& status) {
      self->OnExecutionDeleted(id, status);
    });
  });
}

bool Sandbox::IsWatched(const std::string& id) const {
  const ExecutionPtr execution = FindExecution(id);
  return execution != nullptr && execution->watched();
}

void Sandbox::Evict(const std::string& id, Done done) {
  if (FindExecution(id) == nullptr) {
    done(absl::OkStatus());
  } else {
    DeleteExecution(id, std::move(done));
  }
}

void Sandbox::OnExecutionDeleted(const std::string& id,
                                 const absl::Status& status) {
  const wire::Reply::Failure failure = sandbox::FailureOf(status);
  if (failure == wire::Reply::SUPERVISOR_GONE) {
    if (gone()) {
      RemoveWithoutSupervisor(id);
    }
    return;  // otherwise OnGone() follows, and continues the deletion
  }
  if (!status.ok() && failure != wire::Reply::NO_SUCH_EXECUTION) {
    AnswerDeletion(id, ServerFault(absl::StrCat("deletion of ", id), status));
    return;
  }
  Forget(id);
  AnswerDeletion(id, absl::OkStatus());
}

void Sandbox::RemoveWithoutSupervisor(const std::string& id) {
  if (!recovery_.has_records()) {
    return;  // OnLossesReported() continues it, or AnswerRemoved() answers it
  }
  {
    // The loss of the supervisor and the answer to a deletion may both come
    // here.
    MutexLock lock(&mutex_);
    if (!removing_.insert(id).second) {
      return;
    }
  }
  // The other executions get their ends first, since their callers wait
  // already.
  EndThen([self = shared_from_this(), id] {
    self->environment_.lanes->removals.Run([self, id] {
      const absl::Status removed =
          RemoveExecution(ExecutionPath(self->spec_.directory(), id));
      {
        MutexLock lock(&self->mutex_);
        self->removing_.erase(id);
      }
      self->OnExecutionDeleted(id, removed);
    });
  });
}

void Sandbox::Forget(const std::string& id) {
  const ExecutionPtr execution = executions_.Erase(id);
  environment_.heap->OnFreed();
  if (execution == nullptr) {
    return;  // forgotten before
  }
  retention_->Removed(execution);
  environment_.all_ended->Removed(execution);
  if (execution->MarkLost(WhyLost())) {
    execution->Notify();
  }
}

void Sandbox::AnswerDeletion(const std::string& id,
                             const absl::Status& result) {
  std::vector<Done> callers;
  {
    MutexLock lock(&mutex_);
    callers = execution_deletions_.Take(id);
  }
  for (Done& done : callers) {
    done(result);
  }
}

}  // namespace server
