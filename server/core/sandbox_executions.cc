// The executions of a sandbox: their start, which a repeated request finds
// again, and their deletion.

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
#include "sandbox/base/mutex.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/api/ids.h"
#include "server/api/names.h"
#include "server/api/request_identity.h"
#include "server/core/execution.h"
#include "server/core/sandbox.h"
#include "server/core/state_directory.h"

namespace server {

using sandbox::MutexLock;

namespace {

absl::Status SupervisorGone() {
  return sandbox::MakeFailure(wire::Reply::SUPERVISOR_GONE,
                              "the supervisor is gone");
}

}  // namespace

absl::StatusOr<Sandbox::ExecutionPtr> Sandbox::FindSame(
    const NewExecution& wanted) const {
  const std::string& request_id = wanted.request.request_id();
  const auto made = by_request_.find(request_id);
  if (!request_id.empty() && made != by_request_.end()) {
    const ExecutionPtr& execution = executions_.at(made->second);
    if (!AreSame(execution->request(), wanted.request)) {
      return RequestMismatch(request_id, execution->name());
    }
    return execution;
  }
  const auto found = executions_.find(wanted.id);
  if (found == executions_.end()) {
    return nullptr;
  }
  if (!AreSame(found->second->request(), wanted.request)) {
    return ExecutionExists(found->second->name());
  }
  return found->second;
}

absl::StatusOr<Sandbox::Admission> Sandbox::Admit(const NewExecution& wanted,
                                                  Started* started) {
  auto execution = std::make_shared<Execution>(
      ExecutionName(SandboxName(spec_.id()), wanted.id),
      StateDirectory::ExecutionPath(spec_.directory(), wanted.id),
      wanted.command, wanted.request);
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const ExecutionPtr same, FindSame(wanted));
  if (same != nullptr) {
    if (same->state() == corral::v1::Execution::STARTING) {
      starting_[same->id()].push_back(std::move(*started));
    }
    return Admission{same, /*is_new=*/false};
  }
  if (state_ != corral::v1::Sandbox::READY) {
    return SandboxNotReady(spec_.name(),
                           corral::v1::Sandbox::State_Name(state_));
  }
  if (executions_.size() >= environment_.max_executions) {
    return QuotaExceeded(
        corral::v1::TOO_MANY_EXECUTIONS, spec_.name(),
        absl::StrCat("a sandbox keeps at most ", environment_.max_executions,
                     " executions; delete some"));
  }
  RETURN_IF_ERROR(CheckForVersion("command", wanted.command, schema_version_));
  environment_.activity->CommandStarted();
  lifetime_->Hold();
  Insert(wanted.id, execution);
  starting_[wanted.id].push_back(std::move(*started));
  return Admission{execution, /*is_new=*/true};
}

void Sandbox::Insert(const std::string& id, const ExecutionPtr& execution) {
  executions_.emplace(id, execution);
  if (!execution->request().request_id().empty()) {
    by_request_.emplace(execution->request().request_id(), id);
  }
}

void Sandbox::Erase(const std::string& id) {
  const auto found = executions_.find(id);
  if (found == executions_.end()) {
    return;
  }
  const auto made = by_request_.find(found->second->request().request_id());
  if (made != by_request_.end() && made->second == id) {
    by_request_.erase(made);
  }
  executions_.erase(found);
}

Sandbox::ExecutionPtr Sandbox::Start(NewExecution wanted, Started started) {
  if (wanted.id.empty()) {
    wanted.id = MakeId();
  }
  const absl::StatusOr<Admission> admitted = Admit(wanted, &started);
  if (!admitted.ok()) {
    started(admitted.status());
    return nullptr;
  }
  if (!admitted->is_new) {
    if (started != nullptr) {
      started(admitted->execution);
    }
    return admitted->execution;
  }
  wire::StartExecution start;
  start.set_id(wanted.id);
  *start.mutable_command() = ToCommandSpec(wanted.command, spec_.workspace());
  *start.mutable_request() = std::move(wanted.request);
  auto done = [self = shared_from_this(), execution = admitted->execution,
               id = start.id(),
               admission = environment_.activity->BeginStart()](
                  const absl::Status& status) {
    self->OnStarted(execution, id, status);
  };
  if (const auto supervisor = this->supervisor(); supervisor != nullptr) {
    supervisor->Start(std::move(start), std::move(done));
  } else {
    done(SupervisorGone());
  }
  return admitted->execution;
}

void Sandbox::OnStarted(const ExecutionPtr& execution, const std::string& id,
                        const absl::Status& status) {
  switch (sandbox::FailureOf(status)) {
    case wire::Reply::NONE:
      AnswerStarters(id);
      break;
    case wire::Reply::SUPERVISOR_GONE: {
      // Whether the start had begun, the disk knows.
      MutexLock lock(&mutex_);
      if (gone_) {
        EndThen([] {});
      }
      break;
    }
    default:
      FailStart(execution, id, ToStartError(*execution, status));
  }
}

absl::Status Sandbox::ToStartError(const Execution& execution,
                                   const absl::Status& status) const {
  switch (sandbox::FailureOf(status)) {
    case wire::Reply::STORAGE:
      return StorageFailed("start of an execution", status);
    case wire::Reply::SANDBOX_NOT_READY: {
      // A deletion of the sandbox overtook the start, or its failure did, which
      // is reported next.
      const State state = Describe().state();
      return SandboxNotReady(
          spec_.name(),
          corral::v1::Sandbox::State_Name(state == corral::v1::Sandbox::READY
                                              ? corral::v1::Sandbox::FAILED
                                              : state));
    }
    case wire::Reply::EXECUTION_EXISTS:
      return ExecutionExists(execution.name());
    case wire::Reply::ISOLATION:
      return Error(absl::StatusCode::kFailedPrecondition,
                   corral::v1::ISOLATION_UNAVAILABLE, status.message());
    default:
      return ServerFault(absl::StrCat("start of ", execution.name()), status);
  }
}

void Sandbox::AnswerStarters(const std::string& id) {
  std::vector<Started> waiters;
  ExecutionPtr execution;
  {
    MutexLock lock(&mutex_);
    const auto starting = starting_.find(id);
    const auto found = executions_.find(id);
    if (starting == starting_.end() || found == executions_.end()) {
      return;
    }
    waiters = std::move(starting->second);
    starting_.erase(starting);
    execution = found->second;
  }
  for (Started& started : waiters) {
    started(execution);
  }
}

void Sandbox::FailStart(const ExecutionPtr& execution, const std::string& id,
                        const absl::Status& error) {
  std::vector<Started> waiters;
  {
    MutexLock lock(&mutex_);
    waiters = std::move(starting_[id]);
    starting_.erase(id);
    Erase(id);
  }
  // Before it looks as if it had ended.
  for (Started& started : waiters) {
    started(error);
  }
  Lose(execution);
}

bool Sandbox::knows_executions() const {
  MutexLock lock(&mutex_);
  return !adopted_ || loaded_ || state_ != corral::v1::Sandbox::CREATING;
}

Sandbox::ExecutionPtr Sandbox::FindExecution(const std::string& id) const {
  MutexLock lock(&mutex_);
  const auto found = executions_.find(id);
  return found == executions_.end() ? nullptr : found->second;
}

std::vector<Sandbox::ExecutionPtr> Sandbox::ListExecutions(
    const std::string& after, size_t limit) const {
  std::vector<ExecutionPtr> page;
  MutexLock lock(&mutex_);
  for (auto entry = executions_.upper_bound(after);
       entry != executions_.end() && page.size() < limit; ++entry) {
    page.push_back(entry->second);
  }
  return page;
}

size_t Sandbox::execution_count() const {
  MutexLock lock(&mutex_);
  return executions_.size();
}

void Sandbox::DeleteExecution(const std::string& id, Done done) {
  Done refused;
  {
    MutexLock lock(&mutex_);
    if (executions_.count(id) == 0) {
      refused = std::move(done);
    } else {
      std::vector<Done>& waiters = execution_deletions_[id];
      waiters.push_back(std::move(done));
      if (waiters.size() > 1) {
        return;  // the first one asked already
      }
    }
  }
  if (refused != nullptr) {
    refused(ExecutionNotFound(
        ExecutionName(SandboxName(spec_.id()), id).ToString()));
    return;
  }
  // Until the supervisor was connected to it may live, and own the execution.
  AwaitKnown([self = shared_from_this(), id](const absl::Status& known) {
    if (!known.ok()) {
      self->AnswerDeletion(id, known);
      return;
    }
    auto deleted = [self, id](const absl::Status& status) {
      self->OnExecutionDeleted(id, status);
    };
    const std::shared_ptr<sandbox::SupervisorConnection> supervisor =
        self->supervisor();
    if (supervisor == nullptr) {
      deleted(SupervisorGone());
    } else {
      supervisor->DeleteExecution(id, std::move(deleted));
    }
  });
}

void Sandbox::OnExecutionDeleted(const std::string& id,
                                 const absl::Status& status) {
  const wire::Reply::Failure failure = sandbox::FailureOf(status);
  if (failure == wire::Reply::SUPERVISOR_GONE) {
    {
      MutexLock lock(&mutex_);
      if (!gone_) {
        return;  // OnGone goes on, and knows why
      }
    }
    EndThen([self = shared_from_this(), id] {
      self->OnExecutionDeleted(
          id, StateDirectory::Remove(
                  StateDirectory::ExecutionPath(self->spec_.directory(), id)));
    });
    return;
  }
  ExecutionPtr execution;
  absl::Status result = absl::OkStatus();
  {
    MutexLock lock(&mutex_);
    const auto found = executions_.find(id);
    if (!status.ok() && failure != wire::Reply::NO_SUCH_EXECUTION) {
      result = ServerFault(absl::StrCat("deletion of ", id), status);
    } else if (found != executions_.end()) {
      execution = found->second;
      Erase(id);
    }
  }
  if (execution != nullptr) {
    Lose(execution);
  }
  AnswerDeletion(id, result);
}

void Sandbox::AnswerDeletion(const std::string& id,
                             const absl::Status& result) {
  std::vector<Done> waiters;
  {
    MutexLock lock(&mutex_);
    waiters = std::move(execution_deletions_[id]);
    execution_deletions_.erase(id);
  }
  for (Done& waiter : waiters) {
    waiter(result);
  }
}

}  // namespace server
