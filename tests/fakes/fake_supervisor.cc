#include "tests/fakes/fake_supervisor.h"

#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"

namespace tests {

using sandbox::MakeFailure;
namespace wire = sandbox::wire;

namespace {

sandbox::Overflow ToOverflow(wire::CommandSpec::Overflow overflow) {
  switch (overflow) {
    case wire::CommandSpec::BLOCK:
      return sandbox::Overflow::kBlock;
    case wire::CommandSpec::HEAD_AND_TAIL:
      return sandbox::Overflow::kHeadAndTail;
    case wire::CommandSpec::KILL:
      return sandbox::Overflow::kKill;
    default:  // the sentinels of protobuf's open enums
      return sandbox::Overflow::kDropOldest;
  }
}

bool HasEnded(const wire::ExecutionRecord& record) {
  return record.state() == wire::ExecutionRecord::EXITED ||
         record.state() == wire::ExecutionRecord::FAILED_TO_START;
}

int64_t NowNanos() { return absl::ToUnixNanos(absl::Now()); }

}  // namespace

std::string FakeSupervisor::Path(const std::string& execution) const {
  return absl::StrCat(spec_.directory(), "/executions/", execution);
}

wire::Snapshot FakeSupervisor::Snapshot() const {
  wire::Snapshot snapshot;
  snapshot.set_ready(ready_);
  snapshot.set_schema_version(1);
  *snapshot.mutable_trace() = Trace();
  if (!rules_.rules().empty()) {
    *snapshot.mutable_egress_rules() = AllRules();
  }
  for (const auto& [id, running] : executions_) {
    *snapshot.add_executions() = Report(running);
  }
  return snapshot;
}

wire::SandboxTrace FakeSupervisor::Trace() {
  wire::SandboxTrace trace;
  trace.set_prepare_unix_ns(NowNanos());
  trace.set_mounts_ns(5000);
  return trace;
}

void FakeSupervisor::OpenLogs(Running* running) {
  const wire::CommandSpec& command = running->record.command();
  std::vector<wire::Stream> streams = {wire::STDOUT};
  if (command.terminal_rows() > 0) {
    streams = {wire::TERMINAL};
  } else if (!command.merge_stderr()) {
    streams.push_back(wire::STDERR);
  }
  for (const wire::Stream stream : streams) {
    sandbox::OutputLogWriter log(running->file, stream);
    log.SetRetention(command.retain_bytes(), ToOverflow(command.overflow()));
    running->logs.emplace(stream, std::move(log));
  }
}

void FakeSupervisor::Tell(const Running& running) {
  if (observer_ != nullptr) {
    observer_->OnExecution(Report(running));
  }
}

wire::ExecutionRecord FakeSupervisor::Report(const Running& running) {
  wire::ExecutionRecord record = running.record;
  record.clear_command();
  for (const auto& [stream, log] : running.logs) {
    wire::StreamState* state = record.add_streams();
    state->set_stream(stream);
    state->set_begin(log.state().begin);
    state->set_end(log.state().end);
    state->set_gap_begin(log.state().gap_begin);
    state->set_gap_end(log.state().gap_end);
    state->set_closed(log.state().closed);
    state->set_expired(log.state().expired);
  }
  return record;
}

absl::Status FakeSupervisor::DieAfter(const absl::Status& refusal) {
  if (death_ == Death::kNone) {
    return refusal;
  }
  Die(wire::SandboxEnd::SUPERVISOR_DIED, "killed");
  return MakeFailure(wire::Reply::SUPERVISOR_GONE, "gone");
}

absl::Status FakeSupervisor::Start(const wire::StartExecution& start) {
  if (executions_.count(start.id()) != 0) {
    return MakeFailure(wire::Reply::EXECUTION_EXISTS, start.id());
  }
  ++starts_;
  if (!refusal_.ok() || death_ == Death::kBeforeRecord) {
    return DieAfter(refusal_);
  }
  Running& running = executions_[start.id()];
  running.record.set_id(start.id());
  running.record.set_create_time_ns(NowNanos());
  *running.record.mutable_command() = start.command();
  *running.record.mutable_request() = start.request();
  if (start.has_trace()) {
    *running.record.mutable_trace() = start.trace();
    running.record.mutable_trace()->set_accepted_ns(start.trace().sent_ns() +
                                                    1);
  }
  std::filesystem::create_directories(Path(""));
  auto file = sandbox::ExecutionFile::Create(Path(start.id()));
  CHECK(file.ok()) << file.status().message();
  running.file = *std::move(file);
  const absl::Status written =
      running.file->WriteStart(sandbox::SealRecord(running.record));
  CHECK(written.ok()) << written.message();
  if (death_ == Death::kAfterRecord) {
    return DieAfter(absl::OkStatus());
  }
  if (failure_.errno_value() != 0) {
    running.record.set_state(wire::ExecutionRecord::FAILED_TO_START);
    *running.record.mutable_failure() = failure_;
    OpenLogs(&running);
    for (auto& [stream, log] : running.logs) {
      log.Close();
    }
    running.logs.clear();
    Tell(running);
    return absl::OkStatus();
  }
  OpenLogs(&running);
  running.record.set_state(wire::ExecutionRecord::RUNNING);
  running.record.set_start_time_ns(NowNanos());
  Tell(running);
  return absl::OkStatus();
}

void FakeSupervisor::Write(const std::string& execution, wire::Stream stream,
                           const std::string& bytes) {
  sandbox::OutputLogWriter& log = executions_.at(execution).logs.at(stream);
  const absl::Status status = log.Append(bytes.data(), bytes.size());
  CHECK(status.ok()) << status.message();
  TellOutput(execution);
}

void FakeSupervisor::TellOutput(const std::string& execution) {
  if (observer_ != nullptr) {
    wire::OutputChange change;
    change.set_execution_id(execution);
    *change.mutable_streams() = Report(executions_.at(execution)).streams();
    observer_->OnOutput(change);
  }
}

void FakeSupervisor::End(const std::string& execution, int wait_status,
                         wire::ExitRecord::Cause cause) {
  Running& running = executions_.at(execution);
  for (auto& [stream, log] : running.logs) {
    log.Close();
  }
  running.record.set_state(wire::ExecutionRecord::EXITED);
  running.record.set_end_time_ns(NowNanos());
  if (running.record.has_trace()) {
    running.record.mutable_trace()->set_exited_ns(
        running.record.trace().accepted_ns() + 1);
  }
  running.record.mutable_exit()->set_wait_status(wait_status);
  running.record.mutable_exit()->set_cause(cause);
  running.record.mutable_usage()->set_wall_time_ns(
      running.record.end_time_ns() - running.record.start_time_ns());
  const absl::Status written =
      running.file->WriteEnd(sandbox::SealRecord(Report(running)));
  CHECK(written.ok()) << written.message();
  Tell(running);
}

void FakeSupervisor::Die(wire::SandboxEnd::Cause cause,
                         const std::string& message) {
  alive_ = false;
  executions_.clear();
  for (sandbox::SupervisorConnection::InputDone& done : held_inputs_) {
    done(MakeFailure(wire::Reply::SUPERVISOR_GONE, "died"), wire::InputState());
  }
  held_inputs_.clear();
  for (sandbox::SupervisorConnection::SocketsDone& done : held_sockets_) {
    done(MakeFailure(wire::Reply::SUPERVISOR_GONE, "died"));
  }
  held_sockets_.clear();
  for (sandbox::SupervisorConnection::Done& done :
       std::exchange(ignored_deletions_, {})) {
    done(MakeFailure(wire::Reply::SUPERVISOR_GONE, "died"));
  }
  if (sandbox::SupervisorObserver* observer = std::exchange(observer_, nullptr);
      observer != nullptr) {
    wire::SandboxEnd end;
    end.set_cause(cause);
    end.set_message(message);
    observer->OnGone(end);
  }
}

absl::StatusOr<FakeSupervisor::Running*> FakeSupervisor::Find(
    const std::string& execution) {
  const auto found = executions_.find(execution);
  if (found == executions_.end()) {
    return MakeFailure(wire::Reply::NO_SUCH_EXECUTION, execution);
  }
  return &found->second;
}

absl::Status FakeSupervisor::CheckTerminal(const Running& running) {
  const auto log = running.logs.find(wire::TERMINAL);
  return log != running.logs.end() && !log->second.state().closed
             ? absl::OkStatus()
             : MakeFailure(wire::Reply::NOT_A_TERMINAL, "no terminal");
}

void FakeSupervisor::CloseTerminal(const std::string& execution) {
  executions_.at(execution).logs.at(wire::TERMINAL).Close();
  TellOutput(execution);
}

absl::Status FakeSupervisor::Signal(const wire::Signal& signal) {
  ASSIGN_OR_RETURN(const Running* running, Find(signal.execution_id()));
  if (HasEnded(running->record)) {
    return MakeFailure(wire::Reply::EXECUTION_ENDED, "ended");
  }
  if (signal.scope() == wire::Signal::FOREGROUND_GROUP) {
    RETURN_IF_ERROR(CheckTerminal(*running));
  }
  RETURN_IF_ERROR(control_refusal_);
  last_signal_ = signal;
  if (signal.signal() == SIGKILL) {
    End(signal.execution_id(), SIGKILL, wire::ExitRecord::CLIENT_SIGNAL);
  }
  return absl::OkStatus();
}

absl::Status FakeSupervisor::Resize(const wire::Resize& resize) {
  ASSIGN_OR_RETURN(const Running* running, Find(resize.execution_id()));
  RETURN_IF_ERROR(CheckTerminal(*running));
  RETURN_IF_ERROR(control_refusal_);
  last_resize_ = resize;
  return absl::OkStatus();
}

void FakeSupervisor::WriteInput(const wire::WriteInput& input,
                                sandbox::SupervisorConnection::InputDone done) {
  const absl::StatusOr<Running*> running = Find(input.execution_id());
  last_input_ = input;
  if (!running.ok()) {
    done(running.status(), wire::InputState());
    return;
  }
  wire::ExecutionRecord& record = (*running)->record;
  const wire::CommandSpec& command = record.command();
  if (!command.open_stdin() && command.terminal_rows() == 0) {
    done(MakeFailure(wire::Reply::NO_INPUT, "no input"), wire::InputState());
    return;
  }
  wire::InputState* state = record.mutable_input();
  if (!input_refusal_.ok()) {
    done(input_refusal_, *state);
    return;
  }
  const uint64_t offset =
      input.append() ? state->accepted_offset() : input.offset();
  const uint64_t end = offset + input.data().size();
  if (HasEnded(record)) {
    state->set_closed(true);
  } else if (offset > state->accepted_offset()) {
    done(MakeFailure(wire::Reply::OFFSET_GAP, "gap"), *state);
    return;
  } else if (hold_input_) {
    held_inputs_.push_back(std::move(done));
    return;
  } else if (!state->closed()) {
    state->set_accepted_offset(std::max(end, state->accepted_offset()));
    state->set_closed(input.eof());
  }
  done(absl::OkStatus(), *state);
}

void FakeSupervisor::MakeSockets(
    sandbox::SupervisorConnection::SocketsDone done) {
  if (!sockets_refusal_.ok()) {
    done(sockets_refusal_);
    return;
  }
  if (hold_sockets_) {
    held_sockets_.push_back(std::move(done));
    return;
  }
  if (!given_sockets_.empty()) {
    done(std::exchange(given_sockets_, {}));
    return;
  }
  std::vector<sandbox::UniqueFd> sockets;
  for (const int family : {AF_INET, AF_INET6}) {
    sockets.emplace_back(
        ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  }
  done(std::move(sockets));
}

void FakeSupervisor::Acknowledge(const wire::Acknowledge& acknowledge) {
  last_acknowledge_ = acknowledge;
  const absl::StatusOr<Running*> running = Find(acknowledge.execution_id());
  if (!running.ok()) {
    return;
  }
  const auto log = (*running)->logs.find(acknowledge.stream());
  if (log != (*running)->logs.end()) {
    log->second.Acknowledge(acknowledge.offset());
    TellOutput(acknowledge.execution_id());
  }
}

wire::EgressRules FakeSupervisor::AllRules() const {
  wire::EgressRules all;
  *all.mutable_rules() = spec_.egress().policy().rules();
  all.MergeFrom(rules_);
  return all;
}

absl::Status FakeSupervisor::AllowHosts(const wire::EgressRules& rules) {
  if (!rules_refusal_.ok()) {
    return rules_refusal_;
  }
  if (!spec_.has_egress()) {
    return MakeFailure(wire::Reply::EGRESS, "the sandbox has no way out");
  }
  rules_.MergeFrom(rules);
  observer_->OnEgressRules(AllRules());
  return absl::OkStatus();
}

absl::Status FakeSupervisor::DeleteExecution(const std::string& execution) {
  if (!deletion_refusal_.ok()) {
    return deletion_refusal_;
  }
  const auto found = executions_.find(execution);
  if (found == executions_.end()) {
    return MakeFailure(wire::Reply::NO_SUCH_EXECUTION, execution);
  }
  if (!HasEnded(found->second.record)) {
    End(execution, SIGKILL, wire::ExitRecord::CLIENT_SIGNAL);
  }
  executions_.erase(found);
  for (const char* suffix : {"", ".out", ".err"}) {
    std::filesystem::remove(absl::StrCat(Path(execution), suffix));
  }
  return absl::OkStatus();
}

void FakeSupervisor::DeleteSandbox(wire::ExitRecord::Cause cause) {
  for (const auto& [id, running] : executions_) {
    if (!HasEnded(running.record)) {
      End(id, SIGKILL, cause);
    }
  }
}

}  // namespace tests
