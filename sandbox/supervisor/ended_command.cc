#include "sandbox/supervisor/ended_command.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/terminal_times.h"
#include "sandbox/supervisor/execution_files.h"

namespace sandbox {
namespace {

constexpr absl::Duration kExpireRetry = absl::Milliseconds(200);

// Expires all logs of `execution`, which is its path. After an error, one of
// them is left.
absl::Status ExpireLogs(const std::string& execution,
                        const wire::ExecutionRecord& report) {
  absl::Status result;
  for (const wire::StreamState& stream : report.streams()) {
    const absl::Status expired = ExpireOutputLog(execution, stream.stream());
    if (!absl::IsNotFound(expired)) {
      result.Update(expired);
    }
    if (stream.stream() == wire::TERMINAL) {
      TerminalTimesWriter(absl::StrCat(execution, kTerminalTimes), 0).Expire();
    }
  }
  return result;
}

}  // namespace

EndedCommand::EndedCommand(CommandHost* host,
                           const wire::ExecutionRecord& report,
                           uint64_t disk_bytes, bool synced)
    : host_(host),
      report_(report.SerializeAsString()),
      charged_(disk_bytes),
      synced_(synced) {
  host_->quota->Charge(static_cast<int64_t>(charged_));
  if (charged_ > 0) {
    host_->quota->AddEnded(this, [this] { Expire(); });
  }
}

EndedCommand::~EndedCommand() {
  host_->quota->RemoveEnded(this);
  host_->quota->Charge(-static_cast<int64_t>(charged_));
  host_->storage->Succeed(this);
}

wire::ExecutionRecord EndedCommand::report() const {
  wire::ExecutionRecord report;
  CHECK(report.ParseFromString(report_));
  return report;
}

bool EndedCommand::is_in_files() const {
  if (!synced_ || expire_retry_.pending()) {
    return false;
  }
  // The record of the end has the logs as they were then. If one was not closed
  // yet, only this object is sure to know that it is, and what it takes.
  const wire::ExecutionRecord report = this->report();
  return !report.exit().output_open() &&
         std::all_of(
             report.streams().begin(), report.streams().end(),
             [](const wire::StreamState& stream) { return stream.closed(); });
}

absl::Status EndedCommand::Signal(const wire::Signal&) const {
  return MakeFailure(wire::Reply::EXECUTION_ENDED,
                     "no process of the execution runs any more");
}

absl::Status EndedCommand::Resize(uint32_t, uint32_t) const {
  return MakeFailure(wire::Reply::NOT_A_TERMINAL,
                     "the execution has no terminal, or it is closed");
}

void EndedCommand::WriteInput(const wire::WriteInput&,
                              InputChannel::Done done) const {
  const wire::ExecutionRecord report = this->report();
  done(report.has_input()
           ? absl::OkStatus()  // the state shows that it is closed
           : MakeFailure(wire::Reply::NO_INPUT,
                         "the execution was started without standard input"),
       report.input());
}

void EndedCommand::Expire() {
  if (charged_ == 0) {
    return;
  }
  wire::ExecutionRecord report = this->report();
  const absl::Status expired =
      ExpireLogs(host_->spares->PathOf(report.id()), report);
  if (!expired.ok()) {
    // Still charged: the data may still be on the disk.
    host_->storage->Fail(this, "expiry of output", expired);
    expire_retry_ = Timer(host_->timers, kExpireRetry, [this] { Expire(); });
    return;
  }
  host_->storage->Succeed(this);
  for (wire::StreamState& stream : *report.mutable_streams()) {
    stream.set_begin(stream.end());
    stream.set_expired(true);
  }
  report_ = report.SerializeAsString();
  host_->quota->Charge(-static_cast<int64_t>(std::exchange(charged_, 0)));
  wire::OutputChange change;
  change.set_execution_id(report.id());
  change.mutable_streams()->Swap(report.mutable_streams());
  host_->on_output(std::move(change));
}

bool EndedCommand::RemoveFiles() {
  const wire::ExecutionRecord report = this->report();
  const std::string& id = report.id();
  const std::string path = host_->spares->PathOf(id);
  expire_retry_.Cancel();
  host_->sync->Cancel(path);
  const absl::Status removed = ExecutionFiles::Remove(path, report);
  if (!removed.ok()) {
    host_->storage->Fail(this, absl::StrCat("removal of ", id), removed);
  }
  return removed.ok();
}

}  // namespace sandbox
