// What an execution writes: the command's output, and its own records.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/record_file.h"
#include "sandbox/supervisor/command_streams.h"
#include "sandbox/supervisor/execution.h"

namespace sandbox {
namespace {

// Before a full log is looked at again.
constexpr absl::Duration kBlockedRetry = absl::Milliseconds(50);
// Before a record that could not be written is written again.
constexpr absl::Duration kWriteRetry = absl::Milliseconds(200);

Overflow OverflowOf(const wire::CommandSpec& command) {
  switch (command.overflow()) {
    case wire::CommandSpec::DROP_OLDEST:
      return Overflow::kDropOldest;
    case wire::CommandSpec::BLOCK:
      return Overflow::kBlock;
    case wire::CommandSpec::HEAD_AND_TAIL:
      return Overflow::kHeadAndTail;
    case wire::CommandSpec::KILL:
      return Overflow::kKill;
    default:
      // Also one of a later version, which this one cannot keep to.
      return command.block_when_full() ? Overflow::kBlock
                                       : Overflow::kDropOldest;
  }
}

absl::Status StorageError(const absl::Status& status) {
  return WithFailure(absl::IsAlreadyExists(status)
                         ? wire::Reply::EXECUTION_EXISTS
                         : wire::Reply::STORAGE,
                     status);
}

}  // namespace

absl::Status Execution::TakeFiles(bool terminal) {
  if (terminal || !host_->spare_files.valid()) {
    absl::StatusOr<ExecutionFiles> files =
        ExecutionFiles::Create(host_->directory, record_.id(), terminal);
    RETURN_IF_ERROR(StorageError(files.status()));
    files_ = *std::move(files);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(
      StorageError(host_->spare_files.Rename(host_->directory, record_.id())));
  files_ = std::move(host_->spare_files);
  host_->spare_files = ExecutionFiles();
  return absl::OkStatus();
}

absl::Status Execution::WriteStart() {
  wire::ExecutionRecord start = record_;
  *start.mutable_command() = command_;
  RETURN_IF_ERROR(StorageError(files_.WriteStart(start)));
  host_->sync->SyncStart(files_.directory());
  return absl::OkStatus();
}

absl::Status Execution::OpenStreams() {
  const bool terminal = command_.terminal_rows() != 0;
  ASSIGN_OR_RETURN(
      CommandStreams streams,
      terminal ? OpenTerminal(host_->devpts, command_.terminal_rows(),
                              command_.terminal_columns())
               : OpenPipes(command_.open_stdin(), command_.merge_stderr()));
  command_fds_ = std::move(streams.command);
  if (streams.input.valid()) {
    input_ = std::make_unique<InputChannel>(host_->loop,
                                            std::move(streams.input), terminal);
  }
  OutputChannel::Callbacks callbacks;
  callbacks.changed = [this] { OnOutput(); };
  callbacks.must_kill = [this](wire::ExitRecord::Cause cause) {
    OnMustKill(cause);
  };
  for (auto& [kind, source] : streams.outputs) {
    OutputLogWriter log = files_.TakeLog(kind);
    log.SetRetention(command_.retain_bytes(), OverflowOf(command_));
    outputs_.push_back(std::make_unique<OutputChannel>(
        OutputHost{host_->loop, host_->storage, host_->quota}, kind,
        std::move(source), std::move(log), callbacks));
  }
  files_.CloseUntakenLogs();
  return absl::OkStatus();
}

void Execution::Drain() {
  for (const auto& output : outputs_) {
    output->Pump();
    // Nobody will read what is deleted, and a disk that failed takes no more.
    if (condemned_.has_value() &&
        *condemned_ != wire::ExitRecord::OUTPUT_LIMIT) {
      output->Close();
    }
  }
  if (ended()) {
    return;
  }
  if (OutputClosed()) {
    Finish(/*output_open=*/false);
  } else if (!drain_timer_.has_value()) {
    drain_timer_ =
        host_->loop->After(timeouts_.drain, [this] { OnDrainTimeout(); });
  }
}

void Execution::OnDrainTimeout() {
  drain_timer_.reset();
  for (const auto& output : outputs_) {
    // What waited for room until just now may be the command's own.
    output->Pump();
  }
  if (ended()) {
    return;
  }
  drain_over_ = true;
  const bool blocked =
      std::any_of(outputs_.begin(), outputs_.end(), [this](const auto& output) {
        return output->blocked() && !(forced_ && output->refused());
      });
  if (blocked) {
    drain_timer_ = host_->loop->After(std::max(timeouts_.drain, kBlockedRetry),
                                      [this] { OnDrainTimeout(); });
    return;
  }
  Finish(/*output_open=*/true);
}

bool Execution::DiskHoldsBack() const {
  return end_.has_value() || OutputRefused();
}

bool Execution::OutputRefused() const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [](const auto& output) { return output->refused(); });
}

void Execution::ForceEnd() {
  forced_ = true;
  if (end_.has_value()) {
    WriteEnd();
  } else if (drain_over_ && !ended()) {
    Cancel(drain_timer_);
    OnDrainTimeout();
  }
}

void Execution::OnOutput() {
  wire::OutputChange change;
  change.set_execution_id(record_.id());
  for (const auto& output : outputs_) {
    *change.add_streams() = output->state();
  }
  host_->on_output(std::move(change));
  if (reaped_ && !ended() && OutputClosed()) {
    Finish(/*output_open=*/false);
  }
}

bool Execution::OutputClosed() const {
  return std::all_of(outputs_.begin(), outputs_.end(),
                     [](const auto& output) { return output->closed(); });
}

void Execution::OnMustKill(wire::ExitRecord::Cause cause) {
  Condemn(cause);
  if (record_.state() != wire::ExecutionRecord::STARTING) {
    Kill();
  }
}

void Execution::End(wire::ExecutionRecord end) {
  if (input_ != nullptr) {
    *end.mutable_input() = input_->state();
  }
  for (const auto& output : outputs_) {
    *end.add_streams() = output->state();
  }
  end_ = std::move(end);
  WriteEnd();
}

void Execution::WriteEnd() {
  Cancel(write_timer_);
  std::string sealed = SealRecord(end_.has_value() ? *end_ : Report());
  const absl::Status written = files_.WriteEnd(sealed);
  if (!written.ok()) {
    host_->storage->Fail(this, absl::StrCat("end of ", record_.id()), written);
    write_timer_ = host_->loop->After(kWriteRetry, [this] {
      write_timer_.reset();
      WriteEnd();
    });
  } else {
    host_->storage->Succeed(this);
    host_->sync->SyncEnd(files_.directory(), std::move(sealed));
  }
  if (end_.has_value() && (written.ok() || !EndIsHeldBack())) {
    TellEnd();
  }
}

bool Execution::EndIsHeldBack() const {
  const bool deleted = condemned_.has_value() &&
                       *condemned_ != wire::ExitRecord::OUTPUT_LIMIT &&
                       *condemned_ != wire::ExitRecord::OUTPUT_FAILED;
  // The caller of a start that failed is to be told so now.
  return end_->state() == wire::ExecutionRecord::EXITED && !forced_ && !deleted;
}

void Execution::TellEnd() {
  for (const auto& output : outputs_) {
    output->Settle();
  }
  record_ = *std::move(end_);
  end_.reset();
  // Report() has them as they are then.
  record_.clear_streams();
  host_->on_state(Report());
  host_->quota->AddEnded(this, [this] { ExpireOutput(); });
}

void Execution::ExpireOutput() {
  bool expired = true;
  for (const auto& output : outputs_) {
    expired = output->Expire(files_.LogPath(output->kind())) && expired;
  }
  if (!expired) {
    expire_timer_ = host_->loop->After(kWriteRetry, [this] {
      expire_timer_.reset();
      ExpireOutput();
    });
  }
}

bool Execution::RemoveFiles() {
  if (!files_.valid()) {
    return true;
  }
  Cancel(write_timer_);
  host_->sync->Cancel(files_.directory());
  const absl::Status removed = files_.Remove();
  if (!removed.ok()) {
    host_->storage->Fail(this, absl::StrCat("removal of ", record_.id()),
                         removed);
  }
  return removed.ok();
}

}  // namespace sandbox
