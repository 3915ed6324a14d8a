// What a session learns: from the disk when the server starts, and from the
// supervisor.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/mutex.h"
#include "sandbox/sandbox.h"
#include "server/conversion.h"
#include "server/errors.h"
#include "server/execution.h"
#include "server/names.h"
#include "server/output_expiry.h"
#include "server/session.h"
#include "server/state_directory.h"

namespace server {

using corral::v1::Sandbox;
using sandbox::MutexLock;

namespace {

bool IsRecorded(const wire::SandboxSpec& spec, const std::string& execution) {
  const std::string path =
      StateDirectory::ExecutionPath(spec.directory(), execution) + "/start.pb";
  return ::access(path.c_str(), F_OK) == 0 || errno != ENOENT;
}

}  // namespace

void Session::LoadRecords() {
  {
    MutexLock lock(&mutex_);
    adopted_ = true;
  }
  for (const wire::ExecutionRecord& record :
       StateDirectory::ReadRecords(spec_.directory())) {
    if (FindExecution(record.id()) != nullptr) {
      continue;
    }
    corral::v1::Command command;
    if (!command.ParseFromString(record.command().original())) {
      LOG(WARNING) << "no command in start.pb of " << spec_.name() << " "
                   << record.id();
      continue;
    }
    auto execution = std::make_shared<Execution>(
        FormatExecutionName(spec_.id(), record.id()),
        StateDirectory::ExecutionPath(spec_.directory(), record.id()),
        std::move(command), record.request());
    environment_.activity->CommandStarted();
    lifetime_->Hold();
    if (execution->Update(record)) {
      OnEnd(execution);
    }
    MutexLock lock(&mutex_);
    Insert(record.id(), execution);
  }
}

void Session::EndWithoutSupervisor() {
  std::map<std::string, ExecutionPtr> endless;
  std::shared_ptr<sandbox::Sandbox> dropped;
  {
    MutexLock lock(&mutex_);
    if (gone_) {
      dropped = std::move(sandbox_);
    }
    for (const auto& [id, execution] : executions_) {
      if (!execution->ended()) {
        endless.emplace(id, execution);
      }
    }
  }
  if (endless.empty()) {
    return;
  }
  std::set<std::string> begun;
  for (const wire::ExecutionRecord& record :
       StateDirectory::ReadRecords(spec_.directory())) {
    begun.insert(record.id());
    if (record.state() != wire::ExecutionRecord::STARTING) {
      OnExecution(record);
    }
  }
  for (const auto& [id, execution] : endless) {
    if (execution->state() == corral::v1::Execution::STARTING &&
        begun.count(id) == 0) {
      FailStart(execution, id,
                SandboxNotReady(spec_.name(),
                                Sandbox::State_Name(Describe().state())));
    } else {
      Lose(execution);
      AnswerStarters(id);
    }
  }
}

void Session::OnSnapshot(const wire::Snapshot& snapshot) {
  OnStorage(snapshot.storage());
  {
    MutexLock lock(&mutex_);
    schema_version_ = snapshot.schema_version();
    if (!adopted_) {
      return;  // of a new supervisor, which knows nothing
    }
  }
  const bool complete =
      std::all_of(snapshot.executions().begin(), snapshot.executions().end(),
                  [this](const wire::ExecutionRecord& record) {
                    return FindExecution(record.id()) != nullptr;
                  });
  if (!complete) {
    // Asked for by the server before, and started only after the disk was read.
    LoadRecords();
  }
  std::map<std::string, ExecutionPtr> unknown;
  {
    MutexLock lock(&mutex_);
    unknown = executions_;
  }
  for (const wire::ExecutionRecord& record : snapshot.executions()) {
    OnExecution(record);
    unknown.erase(record.id());
  }
  for (const auto& [id, execution] : unknown) {
    if (IsRecorded(spec_, id)) {
      Lose(execution);
    } else {
      // The server before had it deleted, just now.
      MutexLock lock(&mutex_);
      Erase(id);
    }
    AnswerStarters(id);
  }
  if (!snapshot.ready()) {
    // Whoever asked for it never got an answer.
    Delete(wire::ExitRecord::SANDBOX_DELETED, [](const absl::Status&) {});
  }
  OnCreated(absl::OkStatus());
}

void Session::OnExecution(const wire::ExecutionRecord& record) {
  const ExecutionPtr execution = FindExecution(record.id());
  if (execution == nullptr) {
    return;
  }
  if (execution->Update(record)) {
    OnEnd(execution);
  }
  execution->Notify();
  if (record.state() != wire::ExecutionRecord::STARTING) {
    AnswerStarters(record.id());
  }
}

void Session::OnOutput(const std::string& execution_id) {
  const ExecutionPtr execution = FindExecution(execution_id);
  if (execution != nullptr) {
    execution->OnOutput();
  }
}

void Session::OnStorage(const sandbox::wire::Storage& storage) {
  environment_.storage->Set(spec_.name(), storage.failure());
}

void Session::OnGone(const absl::Status& why) {
  environment_.storage->Set(spec_.name(), "");
  std::vector<Done> waiters;
  bool deleting = false;
  {
    MutexLock lock(&mutex_);
    gone_ = true;
    waiters = std::move(ready_waiters_);
    deleting = state_ == Sandbox::DELETING || deletion_cause_.has_value();
    state_ = deleting ? Sandbox::DELETING : Sandbox::FAILED;
    failure_ = why.ok() ? absl::UnavailableError("the supervisor ended") : why;
  }
  if (deleting) {
    for (Done& ready : waiters) {
      ready(absl::OkStatus());
    }
    MaybeEmptied();
    return;
  }
  LOG(WARNING) << spec_.name() << " failed: " << why.message();
  environment_.workers->Run([self = shared_from_this(), why,
                             waiters = std::move(waiters)]() mutable {
    if (StateDirectory::ReadFailure(self->spec_.directory()).ok()) {
      // For the server after this one.
      StateDirectory::WriteFailure(self->spec_.directory(), why).IgnoreError();
    }
    self->EndWithoutSupervisor();
    for (Done& ready : waiters) {
      ready(absl::OkStatus());
    }
  });
}

void Session::OnEnd(const ExecutionPtr& execution) {
  environment_.activity->CommandEnded();
  lifetime_->Release();
  ExpireOutput(execution, environment_.timers, environment_.workers);
}

void Session::Lose(const ExecutionPtr& execution) {
  if (execution->MarkLost(WhyLost())) {
    OnEnd(execution);
  }
  execution->Notify();
}

corral::v1::Loss Session::WhyLost() const {
  corral::v1::Loss loss;
  MutexLock lock(&mutex_);
  loss.set_message(std::string(failure_.message()));
  if (absl::IsAborted(failure_)) {
    loss.set_cause(corral::v1::Loss::HOST_RESTARTED);
  } else if (absl::IsInternal(failure_)) {
    loss.set_cause(corral::v1::Loss::SANDBOX_FAILED);
  } else {
    loss.set_cause(corral::v1::Loss::SUPERVISOR_DIED);
  }
  return loss;
}

}  // namespace server
