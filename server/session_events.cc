// What a session learns: from the disk when the server starts, and from the
// supervisor.

#include <algorithm>
#include <map>
#include <memory>
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
#include "server/execution.h"
#include "server/names.h"
#include "server/session.h"
#include "server/state_directory.h"

namespace server {

using corral::v1::Sandbox;
using sandbox::MutexLock;

void Session::LoadRecords() {
  {
    MutexLock lock(&mutex_);
    adopted_ = true;
  }
  for (const wire::ExecutionRecord& record :
       environment_.state->ReadRecords(spec_.id())) {
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
        std::move(command));
    environment_.activity->CommandStarted();
    if (execution->Update(record)) {
      environment_.activity->CommandEnded();
    }
    MutexLock lock(&mutex_);
    executions_.emplace(record.id(), std::move(execution));
  }
}

void Session::EndWithoutSupervisor() {
  std::vector<ExecutionPtr> endless;
  std::shared_ptr<sandbox::Sandbox> dropped;
  {
    MutexLock lock(&mutex_);
    if (gone_) {
      dropped = std::move(sandbox_);
    }
    for (const auto& [id, execution] : executions_) {
      if (!execution->ended()) {
        endless.push_back(execution);
      }
    }
  }
  if (endless.empty()) {
    return;
  }
  for (const wire::ExecutionRecord& record :
       environment_.state->ReadRecords(spec_.id())) {
    if (record.state() != wire::ExecutionRecord::STARTING) {
      OnExecution(record);
    }
  }
  for (const ExecutionPtr& execution : endless) {
    Lose(execution);
  }
}

void Session::OnSnapshot(const wire::Snapshot& snapshot) {
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
    Lose(execution);
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
    environment_.activity->CommandEnded();
  }
  execution->Notify();
}

void Session::OnOutput(const std::string& execution_id) {
  const ExecutionPtr execution = FindExecution(execution_id);
  if (execution != nullptr) {
    execution->Notify();
  }
}

void Session::OnStorage(const sandbox::wire::Storage& storage) {
  if (storage.failure().empty()) {
    LOG(INFO) << id() << ": writing succeeds again";
  } else {
    LOG(ERROR) << id() << ": " << storage.failure();
  }
}

void Session::OnGone(const absl::Status& why) {
  Done ready;
  bool deleting = false;
  {
    MutexLock lock(&mutex_);
    gone_ = true;
    ready = std::move(ready_);
    deleting = state_ == Sandbox::DELETING || !deletion_waiters_.empty();
    state_ = deleting ? Sandbox::DELETING : Sandbox::FAILED;
    failure_ = why.ok() ? absl::UnavailableError("the supervisor ended") : why;
  }
  if (deleting) {
    if (ready != nullptr) {
      ready(absl::OkStatus());
    }
    MaybeEmptied();
    return;
  }
  LOG(WARNING) << spec_.name() << " failed: " << why.message();
  environment_.workers->Run(
      [self = shared_from_this(), ready = std::move(ready)]() mutable {
        self->EndWithoutSupervisor();
        if (ready != nullptr) {
          ready(absl::OkStatus());
        }
      });
}

}  // namespace server
