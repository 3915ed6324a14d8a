#include "server/session.h"

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
#include "sandbox/base/log.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/sandbox.h"
#include "server/conversion.h"
#include "server/errors.h"
#include "server/execution.h"
#include "server/ids.h"
#include "server/names.h"
#include "server/state_directory.h"

namespace server {

using corral::v1::Sandbox;
using sandbox::MutexLock;

Session::Session(wire::SandboxSpec spec, const Environment& environment,
                 Done ready)
    : spec_(std::move(spec)),
      environment_(environment),
      ready_(std::move(ready)) {}

corral::v1::Sandbox Session::Describe() const {
  Sandbox description = FromSpec(spec_);
  MutexLock lock(&mutex_);
  description.set_state(state_);
  if (state_ == Sandbox::FAILED) {
    description.mutable_failure()->set_code(static_cast<int>(failure_.code()));
    description.mutable_failure()->set_message(std::string(failure_.message()));
  }
  return description;
}

uint32_t Session::schema_version() const {
  MutexLock lock(&mutex_);
  return schema_version_;
}

std::shared_ptr<sandbox::Sandbox> Session::sandbox() const {
  MutexLock lock(&mutex_);
  return gone_ ? nullptr : sandbox_;
}

void Session::OnCreated(const absl::Status& status) {
  {
    MutexLock lock(&mutex_);
    created_ = true;
    if (!status.ok()) {
      state_ = Sandbox::DELETING;
      deletion_waiters_.emplace_back(
          [ready = std::move(ready_), status](const absl::Status&) mutable {
            ready(status);
          });
    }
  }
  MaybeReady();
}

void Session::Attach(std::unique_ptr<sandbox::Sandbox> sandbox) {
  {
    MutexLock lock(&mutex_);
    sandbox_ = std::move(sandbox);
    attached_ = true;
  }
  MaybeReady();
  MaybeEmptied();
}

void Session::MaybeReady() {
  Done ready;
  bool deleted_meanwhile = false;
  {
    MutexLock lock(&mutex_);
    if (state_ != Sandbox::CREATING || !created_ || !attached_) {
      return;
    }
    state_ = Sandbox::READY;
    ready = std::move(ready_);
    deleted_meanwhile = !deletion_waiters_.empty();
  }
  ready(absl::OkStatus());
  if (deleted_meanwhile) {
    Delete(wire::ExitRecord::SANDBOX_DELETED, [](const absl::Status&) {});
  }
}

absl::StatusOr<Session::ExecutionPtr> Session::Admit(
    const std::string& id, const corral::v1::Command& command) {
  const std::string name = FormatExecutionName(spec_.id(), id);
  auto execution = std::make_shared<Execution>(
      name, StateDirectory::ExecutionPath(spec_.directory(), id), command);
  MutexLock lock(&mutex_);
  if (state_ != Sandbox::READY) {
    return SandboxNotReady(spec_.name(), Sandbox::State_Name(state_));
  }
  if (executions_.count(id) != 0) {
    return ExecutionExists(name);
  }
  if (executions_.size() >= environment_.max_executions) {
    return QuotaExceeded(
        corral::v1::TOO_MANY_EXECUTIONS, spec_.name(),
        absl::StrCat("a sandbox keeps at most ", environment_.max_executions,
                     " executions; delete some"));
  }
  environment_.activity->CommandStarted();
  executions_.emplace(id, execution);
  return execution;
}

Session::ExecutionPtr Session::Start(const std::string& id,
                                     const corral::v1::Command& command,
                                     Started started) {
  wire::StartExecution start;
  start.set_id(id.empty() ? MakeId() : id);
  *start.mutable_command() = ToCommandSpec(command, spec_.workspace());
  const absl::StatusOr<ExecutionPtr> admitted = Admit(start.id(), command);
  if (!admitted.ok()) {
    started(admitted.status());
    return nullptr;
  }
  auto done = [self = shared_from_this(), execution = *admitted,
               id = start.id(), started = std::move(started),
               admission = environment_.activity->BeginStart()](
                  const absl::Status& status) mutable {
    const absl::Status result = self->OnStarted(execution, id, status);
    if (result.ok()) {
      started(execution);
    } else {
      started(result);
    }
  };
  if (const auto sandbox = this->sandbox(); sandbox != nullptr) {
    sandbox->Start(std::move(start), std::move(done));
  } else {
    done(absl::UnavailableError("the supervisor is gone"));
  }
  return *admitted;
}

absl::Status Session::OnStarted(const ExecutionPtr& execution,
                                const std::string& id,
                                const absl::Status& status) {
  if (status.ok()) {
    return status;
  }
  {
    MutexLock lock(&mutex_);
    executions_.erase(id);
  }
  Lose(execution);
  return ServerFault(absl::StrCat("start of ", execution->name()), status);
}

Session::ExecutionPtr Session::FindExecution(const std::string& id) const {
  MutexLock lock(&mutex_);
  const auto found = executions_.find(id);
  return found == executions_.end() ? nullptr : found->second;
}

std::vector<Session::ExecutionPtr> Session::ListExecutions(
    const std::string& after, size_t limit) const {
  std::vector<ExecutionPtr> page;
  MutexLock lock(&mutex_);
  for (auto entry = executions_.upper_bound(after);
       entry != executions_.end() && page.size() < limit; ++entry) {
    page.push_back(entry->second);
  }
  return page;
}

size_t Session::execution_count() const {
  MutexLock lock(&mutex_);
  return executions_.size();
}

void Session::DeleteExecution(const std::string& id, Done done) {
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
    refused(ExecutionNotFound(FormatExecutionName(spec_.id(), id)));
    return;
  }
  auto deleted = [self = shared_from_this(), id](const absl::Status& status) {
    self->OnExecutionDeleted(id, status);
  };
  const std::shared_ptr<sandbox::Sandbox> sandbox = this->sandbox();
  if (sandbox == nullptr) {
    deleted(absl::UnavailableError("the supervisor is gone"));
  } else {
    sandbox->DeleteExecution(id, std::move(deleted));
  }
}

void Session::OnExecutionDeleted(const std::string& id,
                                 const absl::Status& status) {
  if (absl::IsUnavailable(status)) {
    environment_.workers->Run([self = shared_from_this(), id] {
      self->EndWithoutSupervisor();
      self->OnExecutionDeleted(
          id, StateDirectory::Remove(
                  StateDirectory::ExecutionPath(self->spec_.directory(), id)));
    });
    return;
  }
  std::vector<Done> waiters;
  ExecutionPtr execution;
  absl::Status result = absl::OkStatus();
  {
    MutexLock lock(&mutex_);
    waiters = std::move(execution_deletions_[id]);
    execution_deletions_.erase(id);
    const auto found = executions_.find(id);
    if (!status.ok() && !absl::IsNotFound(status)) {
      result = ServerFault(absl::StrCat("deletion of ", id), status);
    } else if (found != executions_.end()) {
      execution = found->second;
      executions_.erase(found);
    }
  }
  if (execution != nullptr) {
    Lose(execution);
  }
  for (Done& waiter : waiters) {
    waiter(result);
  }
}

void Session::Delete(wire::ExitRecord::Cause cause, Done done) {
  std::shared_ptr<sandbox::Sandbox> sandbox;
  Done too_late;
  {
    MutexLock lock(&mutex_);
    if (deleted_) {
      too_late = std::move(done);
    } else {
      deletion_waiters_.push_back(std::move(done));
      if (state_ == Sandbox::CREATING || state_ == Sandbox::DELETING) {
        return;  // MaybeReady and MaybeEmptied go on
      }
      state_ = Sandbox::DELETING;
      sandbox = gone_ ? nullptr : sandbox_;
    }
  }
  if (too_late != nullptr) {
    too_late(absl::OkStatus());
    return;
  }
  if (sandbox != nullptr) {
    sandbox->DeleteSandbox(
        cause, [name = spec_.name()](const absl::Status& status) {
          if (!status.ok()) {
            LOG(WARNING) << "deletion of " << name << ": " << status.message();
          }
        });
  }
  MaybeEmptied();
}

void Session::MaybeEmptied() {
  {
    MutexLock lock(&mutex_);
    if (state_ != Sandbox::DELETING || !gone_ || !attached_ || emptied_) {
      return;
    }
    emptied_ = true;
  }
  environment_.on_emptied(shared_from_this());
}

void Session::FinishDeletion() {
  std::vector<Done> waiters;
  {
    MutexLock lock(&mutex_);
    deleted_ = true;
    waiters = std::move(deletion_waiters_);
  }
  for (Done& waiter : waiters) {
    waiter(absl::OkStatus());
  }
}

void Session::BeginViewing() {
  MutexLock lock(&mutex_);
  ++viewers_;
  ++viewings_;
}

void Session::EndViewing(bool saw_the_end) {
  const auto ignore = [](const absl::Status&) {};
  if (saw_the_end) {
    Delete(wire::ExitRecord::SANDBOX_DELETED, ignore);
    return;
  }
  uint64_t viewings = 0;
  {
    MutexLock lock(&mutex_);
    --viewers_;
    viewings = viewings_;
    if (viewers_ > 0) {
      return;
    }
  }
  environment_.timers->RunAfter(
      kUnwatchedLifetime, [weak = weak_from_this(), viewings, ignore] {
        const std::shared_ptr<Session> self = weak.lock();
        bool unwatched = false;
        if (self != nullptr) {
          MutexLock lock(&self->mutex_);
          unwatched = self->viewers_ == 0 && self->viewings_ == viewings;
        }
        if (unwatched) {
          self->Delete(wire::ExitRecord::SANDBOX_DELETED, ignore);
        }
      });
}

void Session::Lose(const ExecutionPtr& execution) {
  if (execution->MarkLost()) {
    environment_.activity->CommandEnded();
  }
  execution->Notify();
}

}  // namespace server
