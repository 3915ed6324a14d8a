// Reads the records of a sandbox's executions after a restart of the server,
// and after the loss of the supervisor. Everything that reads the disk runs on
// the lane of records.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/mutex.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/core/execution.h"
#include "server/core/execution_records.h"
#include "server/core/execution_table.h"
#include "server/core/recovery.h"
#include "server/core/running_command.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_state.h"
#include "server/core/state_directory.h"

namespace server {

using sandbox::MutexLock;

namespace {

// Returns true if the host has gone down since the sandbox was made.
bool HostWentDown(const wire::SandboxSpec& spec, const std::string& boot_id) {
  return spec.boot_id() != boot_id;
}

// Returns true if the record of the end has the final state of the logs: all
// were closed.
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
    LOG(ERROR) << "cannot read the logs of " << execution->name() << ": "
               << read.message();
  }
}

// Rebuilds the part of a command that the supervisor's record shows.
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

void Sandbox::BeginRecovery() {
  environment_.lanes->records.Run([self = shared_from_this()] {
    if (self->recovery_.BeginReading()) {
      self->ReadRecords();
    }
  });
}

void Sandbox::HurryRecords() {
  if (!recovery_.has_records()) {
    environment_.lanes->records.RunNext([self = shared_from_this()] {
      if (self->recovery_.BeginReading()) {
        self->ReadRecords();
      }
    });
  }
}

void Sandbox::ReadRecords() {
  const absl::Status loaded = LoadRecords();
  if (!loaded.ok() && !recovery_.MayGiveUp(loaded)) {
    LOG(ERROR) << "cannot read the records of " << spec_.name()
               << " yet, will retry: " << loaded.message();
    environment_.timers->RunAfter(Recovery::kReadRetry,
                                  [self = shared_from_this()] {
                                    self->environment_.lanes->records.Run(
                                        [self] { self->ReadRecords(); });
                                  });
    return;
  }
  if (!loaded.ok()) {
    LOG(ERROR) << "goes on without some records of " << spec_.name() << ": "
               << loaded.message();
  }
  if (recovery_.FinishReading(loaded.ok())) {
    Merge();
  }
}

absl::Status Sandbox::LoadRecords() {
  const bool went_down = HostWentDown(spec_, environment_.boot_id);
  // The logs are cut before the output of an ended execution can expire.
  absl::Status status =
      went_down ? CutLogs(spec_.directory()) : absl::OkStatus();
  status.Update(ReadExecutionRecords(
      spec_.directory(), went_down,
      [this](const std::string& id) { return FindExecution(id) == nullptr; },
      [this](const wire::ExecutionRecord& record) {
        corral::v1::Command command;
        if (command.ParseFromString(record.command().original())) {
          Load(record, command);
        } else {
          LOG(WARNING) << "no command in the records of " << spec_.name() << " "
                       << record.id();
        }
      }));
  return status;
}

void Sandbox::Load(const wire::ExecutionRecord& record,
                   const corral::v1::Command& command) {
  const auto execution = std::make_shared<Execution>(home_, record.id(),
                                                     command, record.request());
  const bool ended = execution->Update(record);
  if (!OutputIsFinal(record)) {
    ReadLogs(execution.get());
  }
  ExecutionTable::Entry entry{execution, nullptr};
  if (!ended) {
    entry.running =
        std::make_unique<RunningCommand>(environment_.activity, lifetime_);
  }
  if (executions_.Insert(std::move(entry)) && ended) {
    OnEnd(record.id(), execution);
  }
}

void Sandbox::OnSnapshot(const wire::Snapshot& snapshot) {
  OnStorage(snapshot.storage());
  if (snapshot.has_egress_rules()) {
    OnEgressRules(snapshot.egress_rules());
  }
  if (snapshot.has_trace()) {
    OnMade(snapshot.trace());
  }
  if (snapshot.schema_version() != kSchemaVersion) {
    LOG(WARNING) << "the supervisor of " << spec_.name()
                 << " speaks schema version " << snapshot.schema_version()
                 << ", this server " << kSchemaVersion;
  }
  if (!snapshot.ready()) {
    // The caller that created the sandbox never got an answer.
    Delete(wire::ExitRecord::SANDBOX_DELETED, [](const absl::Status&) {});
  }
  if (recovery_.KeepSnapshot(snapshot)) {
    environment_.lanes->records.Run(
        [self = shared_from_this()] { self->Merge(); });
  }
}

void Sandbox::OnStorage(const wire::Storage& storage) {
  environment_.storage->Set(spec_.name(), storage.failure());
}

void Sandbox::Merge() {
  bool first = true;
  for (Recovery::Reports reports = recovery_.TakeReports();
       first || !reports.empty(); reports = recovery_.TakeReports()) {
    ForgetReplaced(reports);
    const auto unknown = [this](const auto& report) {
      return FindExecution(report.first) == nullptr;
    };
    if (std::any_of(reports.begin(), reports.end(), unknown)) {
      // The earlier server requested the execution, which began after the disk
      // was read.
      const absl::Status loaded = LoadRecords();
      if (!loaded.ok()) {
        LOG(ERROR) << "cannot read the records of " << spec_.name() << ": "
                   << loaded.message();
      }
    }
    for (const auto& [id, record] : reports) {
      if (FindExecution(id) == nullptr && IsRecorded(spec_.directory(), id)) {
        // A repeated request must not start the command a second time.
        LOG(ERROR) << "cannot read the command of " << spec_.name()
                   << "/executions/" << id;
        Load(record, ImpliedCommand(record));
      }
      Update(record);
    }
    if (first) {
      LoseUnreported(reports);
      first = false;
    }
  }
  EndRecovery();
  Handle(SandboxState::Event::kMade);
}

void Sandbox::ForgetReplaced(const Recovery::Reports& reports) {
  for (const auto& [id, record] : reports) {
    const ExecutionPtr execution = FindExecution(id);
    if (execution != nullptr && record.create_time_ns() != 0 &&
        execution->create_time() !=
            absl::FromUnixNanos(record.create_time_ns())) {
      Forget(id);
    }
  }
}

void Sandbox::LoseUnreported(const Recovery::Reports& reports) {
  for (const ExecutionPtr& execution : ListExecutions("", SIZE_MAX)) {
    const std::string& id = execution->id();
    if (reports.count(id) != 0 || FindExecution(id) == nullptr) {
      continue;
    }
    if (IsRecorded(spec_.directory(), id)) {
      Lose(id, execution);
    } else {
      Forget(id);  // the earlier server had it deleted a moment ago
    }
  }
}

void Sandbox::EndRecovery() {
  std::vector<Retention::Suspension> suspensions;  // destroyed without the lock
  MutexLock lock(&mutex_);
  suspensions.swap(suspensions_);
}

void Sandbox::SettleFailure() {
  const auto known = StateDirectory::ReadFailure(spec_.directory());
  wire::SandboxEnd why;
  bool as_asked;
  {
    MutexLock lock(&mutex_);
    if (known.has_value()) {
      // The supervisor's own report, which may not have reached the server.
      failure_ = *known;
    }
    why = failure_;
    as_asked = gone_as_asked_;
  }
  LOG(WARNING) << spec_.name() << " failed: " << why.message();
  if (!known.has_value() && !as_asked) {
    // The next server reads it.
    StateDirectory::WriteFailure(spec_.directory(), why).IgnoreError();
  }
}

absl::Status Sandbox::EndWithoutSupervisor() {
  std::shared_ptr<sandbox::SupervisorConnection> dropped;
  bool as_asked;
  {
    MutexLock lock(&mutex_);
    dropped.swap(supervisor_);
    as_asked = gone_as_asked_;
  }
  recovery_.Abandon();
  const std::map<std::string, ExecutionPtr> unended = executions_.Unended();
  if (unended.empty()) {
    return absl::OkStatus();
  }
  for (const auto& [id, execution] : unended) {
    // The supervisor may have died before it reported the last output.
    ReadLogs(execution.get());
  }
  std::set<std::string> begun;
  const absl::Status read = ReadExecutionRecords(
      spec_.directory(), HostWentDown(spec_, environment_.boot_id),
      [&](const std::string& id) { return unended.count(id) != 0; },
      [&](const wire::ExecutionRecord& record) {
        begun.insert(record.id());
        if (record.state() != wire::ExecutionRecord::STARTING) {
          Update(record);
        }
      });
  if (!read.ok() && !recovery_.MayGiveUp(read)) {
    return read;
  }
  if (!read.ok()) {
    LOG(ERROR) << "goes on without some records of " << spec_.name() << ": "
               << read.message();
  }
  for (const auto& [id, execution] : unended) {
    const bool may_have_begun = begun.count(id) != 0 || !read.ok();
    const bool starting = execution->state() == corral::v1::Execution::STARTING;
    // A start that was under way when the sandbox was deleted left nothing.
    if (starting && (as_asked || !may_have_begun)) {
      FailStart(id, SandboxNotReady(
                        spec_.name(),
                        corral::v1::Sandbox::State_Name(Describe().state())));
    } else {
      Lose(id, execution);
    }
  }
  return absl::OkStatus();
}

void Sandbox::OnLossesReported() {
  EndRecovery();
  AnswerReady();
  std::vector<std::string> deletions;
  {
    MutexLock lock(&mutex_);
    deletions = execution_deletions_.ids();
  }
  for (const std::string& id : deletions) {
    RemoveWithoutSupervisor(id);
  }
  // Output may have expired after the record of the end was written.
  for (const ExecutionPtr& execution : ListExecutions("", SIZE_MAX)) {
    ReadLogs(execution.get());
  }
}

void Sandbox::EndThen(absl::AnyInvocable<void()> then) {
  environment_.lanes->records.Run(
      [self = shared_from_this(), then = std::move(then)]() mutable {
        const absl::Status ended = self->EndWithoutSupervisor();
        if (ended.ok()) {
          then();
          return;
        }
        LOG(ERROR) << "cannot read the records of " << self->spec_.name()
                   << " yet, will retry: " << ended.message();
        self->environment_.timers->RunAfter(
            Recovery::kReadRetry, [self, then = std::move(then)]() mutable {
              self->EndThen(std::move(then));
            });
      });
}

}  // namespace server
