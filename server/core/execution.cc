#include "server/core/execution.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/instant.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/output_log.h"
#include "server/api/conversion.h"
#include "server/api/names.h"
#include "server/core/execution_records.h"
#include "server/core/kept_command.h"

namespace server {

using google::protobuf::util::TimeUtil;

namespace {

bool TakesInput(const corral::v1::Command& command) {
  return command.stdin() || command.has_terminal();
}

// Sets when the output of an execution that has ended expires. `last_written`
// is when a log was last written, in seconds since 1970.
void SetExpireTime(const corral::v1::OutputPolicy& policy, int64_t last_written,
                   corral::v1::Execution* record) {
  if (!policy.has_keep_after_end()) {
    return;
  }
  // If the time of the end is unknown, the time of the last output stands for
  // it: a restart of the server does not change that.
  const google::protobuf::Timestamp end =
      record->has_end_time()
          ? record->end_time()
          : std::max(record->create_time(),
                     TimeUtil::SecondsToTimestamp(last_written));
  *record->mutable_output_expire_time() = end + policy.keep_after_end();
}

}  // namespace

Execution::Execution(std::shared_ptr<const ExecutionHome> home, std::string id,
                     KeptCommand command,
                     corral::supervisor::v1::RequestIdentity request,
                     int64_t received_ns)
    : home_(std::move(home)),
      id_(std::move(id)),
      command_(std::move(command)),
      takes_input_(TakesInput(this->command())),
      request_(std::move(request)),
      received_ns_(received_ns) {
  sandbox::MutexLock lock(&mutex_);
  record_.Change([this](corral::v1::Execution* record) {
    *record->mutable_create_time() = TimeUtil::GetCurrentTime();
    if (takes_input_) {
      record->mutable_input();
    }
  });
  // Every terminal takes input.
  if (takes_input_) {
    const corral::v1::TerminalSize size = this->command().terminal();
    rows_ = size.rows();
    columns_ = size.columns();
  }
}

std::string Execution::path() const {
  return ExecutionPath(home_->directory, id_);
}

bool Execution::has_stream(corral::v1::Stream stream) const {
  const std::vector<corral::v1::Stream> streams = StreamsOf(command());
  return std::find(streams.begin(), streams.end(), stream) != streams.end();
}

corral::v1::Execution::State Execution::state() const {
  sandbox::MutexLock lock(&mutex_);
  return record_.state();
}

bool Execution::ended() const {
  sandbox::MutexLock lock(&mutex_);
  return record_.ended();
}

corral::v1::TerminalSize Execution::terminal_size() const {
  corral::v1::TerminalSize size;
  sandbox::MutexLock lock(&mutex_);
  size.set_rows(rows_);
  size.set_columns(columns_);
  return size;
}

void Execution::SetTerminalSize(const corral::v1::TerminalSize& size) {
  sandbox::MutexLock lock(&mutex_);
  rows_ = size.rows();
  columns_ = size.columns();
}

corral::v1::Execution Execution::Describe() const {
  sandbox::MutexLock lock(&mutex_);
  corral::v1::Execution description = record_.Get();
  description.set_name(name());
  *description.mutable_command() = command();
  if (TimesTrace(description)) {
    *description.mutable_trace()->mutable_answered() = SinceReceived();
  }
  if (description.state() == corral::v1::Execution::STARTING) {
    return description;
  }
  for (const corral::v1::Stream stream : StreamsOf(description.command())) {
    const std::optional<sandbox::OutputLogState> log = output_.Find(stream);
    if (log.has_value()) {
      corral::v1::StreamState* state = description.add_streams();
      *state = ToStreamState(stream, *log);
      // The log of a LOST execution is closed, too: its supervisor died before
      // it could close it.
      state->set_closed(log->closed ||
                        description.state() == corral::v1::Execution::LOST);
    }
  }
  return description;
}

corral::v1::InputState Execution::input() const {
  sandbox::MutexLock lock(&mutex_);
  return record_.Get().input();
}

InputQueue& Execution::input_queue() {
  sandbox::MutexLock lock(&mutex_);
  if (input_queue_ == nullptr) {
    input_queue_ = std::make_unique<InputQueue>();
  }
  return *input_queue_;
}

std::optional<sandbox::OutputLogState> Execution::output(
    corral::v1::Stream stream) const {
  sandbox::MutexLock lock(&mutex_);
  return output_.Find(stream);
}

Execution::LogReader Execution::FindLog(corral::v1::Stream stream) const {
  sandbox::MutexLock lock(&mutex_);
  return logs_[LogOf(stream)].lock();
}

absl::StatusOr<Execution::LogReader> Execution::OpenLog(
    corral::v1::Stream stream) {
  if (LogReader log = FindLog(stream); log != nullptr) {
    return log;
  }
  ASSIGN_OR_RETURN(sandbox::OutputLogReader opened,
                   sandbox::OutputLogReader::Open(path(), ToWire(stream)));
  RETURN_IF_ERROR(ReadLog(stream, opened));
  // Without make_shared, which keeps the memory until the weak pointer goes.
  const LogReader log(
      std::make_unique<const sandbox::OutputLogReader>(std::move(opened)));
  sandbox::MutexLock lock(&mutex_);
  logs_[LogOf(stream)] = log;
  return log;
}

absl::Status Execution::ReadLog(corral::v1::Stream stream,
                                const sandbox::OutputLogReader& log) {
  ASSIGN_OR_RETURN(const sandbox::OutputLogState state, log.state());
  sandbox::MutexLock lock(&mutex_);
  output_.Merge(stream, state);
  return absl::OkStatus();
}

absl::Status Execution::ReadLogs() {
  absl::Status result;
  for (const corral::v1::Stream stream : StreamsOf(command())) {
    const absl::StatusOr<sandbox::OutputLogReader> log =
        sandbox::OutputLogReader::Open(path(), ToWire(stream));
    if (absl::IsNotFound(log.status())) {
      continue;  // a start that failed early made no log
    }
    result.Update(log.ok() ? ReadLog(stream, *log) : log.status());
    const absl::StatusOr<int64_t> written =
        log.ok() ? log->WriteTime() : log.status();
    if (written.ok()) {
      sandbox::MutexLock lock(&mutex_);
      last_written_ = std::max(last_written_, *written);
    }
  }
  return result;
}

bool Execution::Update(const corral::supervisor::v1::ExecutionRecord& record) {
  sandbox::MutexLock lock(&mutex_);
  Merge(record.streams());
  if (record_.ended()) {
    return false;
  }
  record_.Change(
      [&, last_written = last_written_](corral::v1::Execution* changed) {
        MergeRecord(record, changed);
        if (!IsEnd(changed->state())) {
          return;
        }
        SetExpireTime(command().output(), last_written, changed);
        if (TimesTrace(*changed)) {
          *changed->mutable_trace()->mutable_reported() = SinceReceived();
        }
      });
  return record_.ended();
}

bool Execution::MarkLost(const corral::v1::Loss& why) {
  sandbox::MutexLock lock(&mutex_);
  if (record_.ended()) {
    return false;
  }
  record_.Change(
      [&, last_written = last_written_](corral::v1::Execution* changed) {
        changed->set_state(corral::v1::Execution::LOST);
        *changed->mutable_loss() = why;
        SetExpireTime(command().output(), last_written, changed);
      });
  return true;
}

google::protobuf::Duration Execution::SinceReceived() const {
  return TimeUtil::NanosecondsToDuration(sandbox::MonotonicNanoseconds() -
                                         received_ns_);
}

void Execution::Merge(const StreamReports& reports) {
  for (const corral::supervisor::v1::StreamState& report : reports) {
    output_.Merge(report);
  }
}

std::optional<google::protobuf::Timestamp> Execution::output_expire_time()
    const {
  sandbox::MutexLock lock(&mutex_);
  const corral::v1::Execution record = record_.Get();
  return record.has_output_expire_time()
             ? std::make_optional(record.output_expire_time())
             : std::nullopt;
}

void Execution::OnOutput(const StreamReports& reports) {
  {
    sandbox::MutexLock lock(&mutex_);
    Merge(reports);
  }
  Notify();
}

void Execution::UpdateInput(const corral::v1::InputState& input) {
  sandbox::MutexLock lock(&mutex_);
  record_.Change([&](corral::v1::Execution* record) {
    if (input.accepted_offset() >= record->input().accepted_offset()) {
      *record->mutable_input() = input;
    }
  });
}

absl::Time Execution::create_time() const {
  sandbox::MutexLock lock(&mutex_);
  return absl::FromUnixNanos(
      TimeUtil::TimestampToNanoseconds(record_.Get().create_time()));
}

absl::Time Execution::end_time() const {
  sandbox::MutexLock lock(&mutex_);
  const corral::v1::Execution record = record_.Get();
  return absl::FromUnixNanos(TimeUtil::TimestampToNanoseconds(
      record.has_end_time() ? record.end_time() : record.create_time()));
}

bool Execution::watched() const {
  sandbox::MutexLock lock(&mutex_);
  return std::any_of(
      watchers_.begin(), watchers_.end(),
      [](const Watching& watching) { return !watching.watcher.expired(); });
}

void Execution::Notify() {
  std::vector<std::shared_ptr<ExecutionWatcher>> watchers;
  {
    sandbox::MutexLock lock(&mutex_);
    for (const Watching& watching : watchers_) {
      if (auto watcher = watching.watcher.lock(); watcher != nullptr) {
        watchers.push_back(std::move(watcher));
      }
    }
  }
  for (const auto& watcher : watchers) {
    watcher->OnChange();
  }
}

void Execution::Watch(std::weak_ptr<ExecutionWatcher> watcher) {
  const ExecutionWatcher* key = watcher.lock().get();
  sandbox::MutexLock lock(&mutex_);
  watchers_.push_back({key, std::move(watcher)});
}

void Execution::Unwatch(const ExecutionWatcher* watcher) {
  sandbox::MutexLock lock(&mutex_);
  watchers_.erase(std::remove_if(watchers_.begin(), watchers_.end(),
                                 [watcher](const Watching& watching) {
                                   return watching.key == watcher;
                                 }),
                  watchers_.end());
  if (watchers_.empty()) {
    watchers_ = {};  // gives its memory back
  }
}

}  // namespace server
