// What a sandbox learns: from the disk when the server starts, and from the
// supervisor.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
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
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/base/mutex.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/api/names.h"
#include "server/core/execution.h"
#include "server/core/output_expiry.h"
#include "server/core/sandbox.h"
#include "server/core/state_directory.h"

namespace server {

using sandbox::MutexLock;

namespace {

bool IsRecorded(const wire::SandboxSpec& spec, const std::string& execution) {
  const std::string path =
      StateDirectory::ExecutionPath(spec.directory(), execution) + "/start.pb";
  return ::access(path.c_str(), F_OK) == 0 || errno != ENOENT;
}

// Of one whose supervisor is gone: it never began, or a deletion of the sandbox
// met it as it started.
bool NothingIsLeft(const Execution& execution, bool begun, bool deleted) {
  return execution.state() == corral::v1::Execution::STARTING &&
         (deleted || !begun);
}

void LogGivenUp(const wire::SandboxSpec& spec, const absl::Status& unreadable) {
  if (!unreadable.ok()) {
    LOG(ERROR) << "records of " << spec.name()
               << " are given up: " << unreadable.message();
  }
}

// exit.pb says what the logs held at the end, and nothing was written later.
bool OutputIsFinal(const wire::ExecutionRecord& record) {
  return record.state() != wire::ExecutionRecord::STARTING &&
         !record.streams().empty() &&
         std::all_of(
             record.streams().begin(), record.streams().end(),
             [](const wire::StreamState& state) { return state.closed(); });
}

// Blocks on the disk.
void ReadLogs(Execution* execution) {
  const absl::Status read = execution->ReadLogs();
  if (!read.ok()) {
    LOG(ERROR) << "logs of " << execution->name() << ": " << read.message();
  }
}

// Of a command that only its supervisor remembers: what it shows of it.
corral::v1::Command ImpliedCommand(const wire::ExecutionRecord& record) {
  const auto has = [&record](wire::Stream stream) {
    return std::any_of(record.streams().begin(), record.streams().end(),
                       [stream](const wire::StreamState& state) {
                         return state.stream() == stream;
                       });
  };
  corral::v1::Command command;
  if (has(wire::TERMINAL)) {
    command.mutable_terminal();
  } else {
    command.set_merge_stderr(has(wire::STDOUT) && !has(wire::STDERR));
    command.set_stdin(record.has_input());
  }
  return command;
}

}  // namespace

absl::Status Sandbox::LoadRecords() {
  {
    MutexLock lock(&mutex_);
    adopted_ = true;
  }
  const StateDirectory::Records read =
      StateDirectory::ReadRecords(spec_.directory());
  for (const wire::ExecutionRecord& record : read.records) {
    if (FindExecution(record.id()) != nullptr) {
      continue;
    }
    corral::v1::Command command;
    if (!command.ParseFromString(record.command().original())) {
      LOG(WARNING) << "no command in start.pb of " << spec_.name() << " "
                   << record.id();
      continue;
    }
    Load(record, std::move(command));
  }
  MutexLock lock(&mutex_);
  loaded_ = loaded_ || read.status.ok();
  return read.status;
}

void Sandbox::Load(const wire::ExecutionRecord& record,
                   corral::v1::Command command) {
  auto execution = std::make_shared<Execution>(
      ExecutionName(SandboxName(spec_.id()), record.id()),
      StateDirectory::ExecutionPath(spec_.directory(), record.id()),
      std::move(command), record.request());
  environment_.activity->CommandStarted();
  lifetime_->Hold();
  const bool ended = execution->Update(record);
  if (!OutputIsFinal(record)) {
    ReadLogs(execution.get());
  }
  if (ended) {
    OnEnd(execution);
  }
  MutexLock lock(&mutex_);
  Insert(record.id(), execution);
}

bool Sandbox::MayGiveUp(const absl::Status& unreadable) {
  MutexLock lock(&mutex_);
  // The want of descriptors or memory is this server's, and says nothing of the
  // disk.
  const bool give_up =
      !absl::IsResourceExhausted(unreadable) && ++unreadable_ >= kReadAttempts;
  loaded_ = loaded_ || give_up;
  return give_up;
}

absl::Status Sandbox::EndWithoutSupervisor() {
  std::map<std::string, ExecutionPtr> endless;
  std::shared_ptr<sandbox::SupervisorConnection> dropped;
  bool as_asked = false;
  {
    MutexLock lock(&mutex_);
    as_asked = gone_as_asked_;
    if (gone_) {
      dropped = std::move(supervisor_);
    }
    for (const auto& [id, execution] : executions_) {
      if (!execution->ended()) {
        endless.emplace(id, execution);
      }
    }
  }
  if (endless.empty()) {
    return absl::OkStatus();
  }
  const StateDirectory::Records read =
      StateDirectory::ReadRecords(spec_.directory());
  if (!read.status.ok() && !MayGiveUp(read.status)) {
    return read.status;
  }
  std::set<std::string> begun;
  for (const wire::ExecutionRecord& record : read.records) {
    begun.insert(record.id());
  }
  for (const auto& [id, execution] : endless) {
    // Output that the supervisor did not live to report.
    ReadLogs(execution.get());
  }
  for (const wire::ExecutionRecord& record : read.records) {
    if (record.state() != wire::ExecutionRecord::STARTING) {
      OnExecution(record);
    }
  }
  for (const auto& [id, execution] : endless) {
    const bool begun_or_unknown = begun.count(id) != 0 || !read.status.ok();
    if (NothingIsLeft(*execution, begun_or_unknown, as_asked)) {
      FailStart(execution, id,
                SandboxNotReady(spec_.name(), corral::v1::Sandbox::State_Name(
                                                  Describe().state())));
    } else {
      Lose(execution);
      AnswerStarters(id);
    }
  }
  LogGivenUp(spec_, read.status);
  return absl::OkStatus();
}

void Sandbox::EndThen(absl::AnyInvocable<void()> then) {
  environment_.lanes->records.Run(
      [self = shared_from_this(), then = std::move(then)]() mutable {
        const absl::Status ended = self->EndWithoutSupervisor();
        if (ended.ok()) {
          then();
          return;
        }
        LOG(ERROR) << "records of " << self->spec_.name() << ": "
                   << ended.message() << "; tried again";
        self->environment_.timers->RunAfter(
            kReadRetry, [self, then = std::move(then)]() mutable {
              self->EndThen(std::move(then));
            });
      });
}

void Sandbox::OnSnapshot(const wire::Snapshot& snapshot) {
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
    const absl::Status loaded = LoadRecords();
    if (!loaded.ok()) {
      LOG(ERROR) << "records of " << spec_.name() << ": " << loaded.message();
    }
  }
  std::map<std::string, ExecutionPtr> unknown;
  {
    MutexLock lock(&mutex_);
    unknown = executions_;
  }
  for (const wire::ExecutionRecord& record : snapshot.executions()) {
    if (unknown.erase(record.id()) == 0 && IsRecorded(spec_, record.id())) {
      // Lest a repeated request start it a second time.
      LOG(ERROR) << "no command can be read of " << spec_.name() << " "
                 << record.id();
      Load(record, ImpliedCommand(record));
    }
    OnExecution(record);
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

void Sandbox::OnExecution(const wire::ExecutionRecord& record) {
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

void Sandbox::OnOutput(const wire::OutputChange& change) {
  const ExecutionPtr execution = FindExecution(change.execution_id());
  if (execution != nullptr) {
    execution->OnOutput(change.streams());
  }
}

void Sandbox::OnStorage(const sandbox::wire::Storage& storage) {
  environment_.storage->Set(spec_.name(), storage.failure());
}

void Sandbox::OnGone(const wire::SandboxEnd& end) {
  environment_.storage->Set(spec_.name(), "");
  std::vector<Done> waiters;
  std::vector<std::string> execution_deletions;
  bool deleting = false;
  {
    MutexLock lock(&mutex_);
    gone_ = true;
    gone_as_asked_ = end.cause() == wire::SandboxEnd::DELETED;
    waiters = std::move(ready_waiters_);
    for (const auto& [id, unanswered] : execution_deletions_) {
      execution_deletions.push_back(id);
    }
    deleting =
        state_ == corral::v1::Sandbox::DELETING || deletion_cause_.has_value();
    state_ =
        deleting ? corral::v1::Sandbox::DELETING : corral::v1::Sandbox::FAILED;
    failure_ = end;
    if (gone_as_asked_) {
      failure_.set_cause(wire::SandboxEnd::SUPERVISOR_DIED);
      failure_.set_message("the supervisor ended");
    }
  }
  auto go_on = [self = shared_from_this(), waiters = std::move(waiters),
                ids = std::move(execution_deletions)]() mutable {
    for (Done& ready : waiters) {
      ready(absl::OkStatus());
    }
    for (const std::string& id : ids) {
      self->OnExecutionDeleted(
          id, sandbox::MakeFailure(wire::Reply::SUPERVISOR_GONE,
                                   "the supervisor is gone"));
    }
  };
  if (deleting) {
    go_on();
    MaybeEmptied();
    return;
  }
  LOG(WARNING) << spec_.name() << " failed: " << end.message();
  environment_.lanes->records.Run([self = shared_from_this(), end,
                                   go_on = std::move(go_on)]() mutable {
    self->SettleFailure(end);
    self->EndThen([self, go_on = std::move(go_on)]() mutable {
      go_on();
      // Output that expired after exit.pb was written.
      for (const ExecutionPtr& execution : self->ListExecutions("", SIZE_MAX)) {
        ReadLogs(execution.get());
      }
    });
  });
}

void Sandbox::SettleFailure(const wire::SandboxEnd& end) {
  const auto known = StateDirectory::ReadFailure(spec_.directory());
  if (!known.has_value() && end.cause() != wire::SandboxEnd::DELETED) {
    // For the server after this one.
    StateDirectory::WriteFailure(spec_.directory(), end).IgnoreError();
  }
  if (!known.has_value()) {
    return;
  }
  // The supervisor's own words, which may not have come through.
  MutexLock lock(&mutex_);
  failure_ = *known;
}

void Sandbox::OnEnd(const ExecutionPtr& execution) {
  environment_.activity->CommandEnded();
  lifetime_->Release();
  ExpireOutput(execution, environment_.timers, &environment_.lanes->removals);
}

void Sandbox::Lose(const ExecutionPtr& execution) {
  if (execution->MarkLost(WhyLost())) {
    OnEnd(execution);
  }
  execution->Notify();
}

corral::v1::Loss Sandbox::WhyLost() const {
  corral::v1::Loss loss;
  MutexLock lock(&mutex_);
  loss.set_message(failure_.message());
  switch (failure_.cause()) {
    case wire::SandboxEnd::HOST_RESTARTED:
      loss.set_cause(corral::v1::Loss::HOST_RESTARTED);
      break;
    case wire::SandboxEnd::INIT_DIED:
    case wire::SandboxEnd::SPAWNER_DIED:
      loss.set_cause(corral::v1::Loss::SANDBOX_FAILED);
      break;
    default:  // the sentinels of protobuf's open enums
      loss.set_cause(corral::v1::Loss::SUPERVISOR_DIED);
  }
  return loss;
}

}  // namespace server
