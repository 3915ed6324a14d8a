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
#include "server/core/kept_command.h"

namespace server {

using google::protobuf::util::TimeUtil;

Execution::Execution(ExecutionName name, std::string path, KeptCommand command,
                     corral::supervisor::v1::RequestIdentity request,
                     int64_t received_ns)
    : name_(std::move(name)),
      path_(std::move(path)),
      command_(std::move(command)),
      request_(std::move(request)),
      received_ns_(received_ns),
      streams_(StreamsOf(command_.command())) {
  sandbox::MutexLock lock(&mutex_);
  record_.set_state(corral::v1::Execution::STARTING);
  *record_.mutable_create_time() = TimeUtil::GetCurrentTime();
  terminal_size_ = this->command().terminal();
  if (takes_input()) {
    record_.mutable_input();
  }
}

bool Execution::has_stream(corral::v1::Stream stream) const {
  return std::find(streams_.begin(), streams_.end(), stream) != streams_.end();
}

corral::v1::Execution::State Execution::state() const {
  sandbox::MutexLock lock(&mutex_);
  return record_.state();
}

bool Execution::ended() const { return IsEnd(state()); }

corral::v1::TerminalSize Execution::terminal_size() const {
  sandbox::MutexLock lock(&mutex_);
  return terminal_size_;
}

void Execution::SetTerminalSize(const corral::v1::TerminalSize& size) {
  sandbox::MutexLock lock(&mutex_);
  terminal_size_ = size;
}

corral::v1::Execution Execution::Describe() const {
  sandbox::MutexLock lock(&mutex_);
  corral::v1::Execution description = record_;
  description.set_name(name_.ToString());
  *description.mutable_command() = command();
  if (TimesTrace()) {
    *description.mutable_trace()->mutable_answered() = SinceReceived();
  }
  if (record_.state() == corral::v1::Execution::STARTING) {
    return description;
  }
  for (const corral::v1::Stream stream : streams_) {
    const std::optional<sandbox::OutputLogState>& log = output_.Find(stream);
    if (log.has_value()) {
      corral::v1::StreamState* state = description.add_streams();
      *state = ToStreamState(stream, *log);
      // The log of a LOST execution is closed, too: its supervisor died before
      // it could close it.
      state->set_closed(log->closed ||
                        record_.state() == corral::v1::Execution::LOST);
    }
  }
  return description;
}

corral::v1::InputState Execution::input() const {
  sandbox::MutexLock lock(&mutex_);
  return record_.input();
}

std::optional<sandbox::OutputLogState> Execution::output(
    corral::v1::Stream stream) const {
  sandbox::MutexLock lock(&mutex_);
  return output_.Find(stream);
}

Execution::LogReader Execution::FindLog(corral::v1::Stream stream) const {
  sandbox::MutexLock lock(&mutex_);
  return logs_[stream].lock();
}

absl::StatusOr<Execution::LogReader> Execution::OpenLog(
    corral::v1::Stream stream) {
  if (LogReader log = FindLog(stream); log != nullptr) {
    return log;
  }
  ASSIGN_OR_RETURN(sandbox::OutputLogReader opened,
                   sandbox::OutputLogReader::Open(path_, ToWire(stream)));
  RETURN_IF_ERROR(ReadLog(stream, opened));
  auto log =
      std::make_shared<const sandbox::OutputLogReader>(std::move(opened));
  sandbox::MutexLock lock(&mutex_);
  logs_[stream] = log;
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
  for (const corral::v1::Stream stream : streams_) {
    const absl::StatusOr<sandbox::OutputLogReader> log =
        sandbox::OutputLogReader::Open(path_, ToWire(stream));
    if (absl::IsNotFound(log.status())) {
      continue;  // a start that failed early made no log
    }
    result.Update(log.ok() ? ReadLog(stream, *log) : log.status());
    const absl::StatusOr<int64_t> written =
        log.ok() ? log->WriteTime() : log.status();
    if (written.ok()) {
      sandbox::MutexLock lock(&mutex_);
      last_written_ =
          std::max(last_written_, TimeUtil::SecondsToTimestamp(*written));
    }
  }
  return result;
}

bool Execution::Update(const corral::supervisor::v1::ExecutionRecord& record) {
  sandbox::MutexLock lock(&mutex_);
  Merge(record.streams());
  if (IsEnd(record_.state())) {
    return false;
  }
  MergeRecord(record, &record_);
  SetExpireTime();
  if (!IsEnd(record_.state())) {
    return false;
  }
  if (TimesTrace()) {
    *record_.mutable_trace()->mutable_reported() = SinceReceived();
  }
  return true;
}

bool Execution::MarkLost(const corral::v1::Loss& why) {
  sandbox::MutexLock lock(&mutex_);
  if (IsEnd(record_.state())) {
    return false;
  }
  record_.set_state(corral::v1::Execution::LOST);
  *record_.mutable_loss() = why;
  SetExpireTime();
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

void Execution::SetExpireTime() {
  const corral::v1::OutputPolicy& policy = command().output();
  if (!IsEnd(record_.state()) || !policy.has_keep_after_end()) {
    return;
  }
  // If the time of the end is unknown, the time of the last output stands for
  // it: a restart of the server does not change that.
  const google::protobuf::Timestamp end =
      record_.has_end_time() ? record_.end_time()
                             : std::max(record_.create_time(), last_written_);
  *record_.mutable_output_expire_time() = end + policy.keep_after_end();
}

std::optional<google::protobuf::Timestamp> Execution::output_expire_time()
    const {
  sandbox::MutexLock lock(&mutex_);
  return record_.has_output_expire_time()
             ? std::make_optional(record_.output_expire_time())
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
  if (input.accepted_offset() >= record_.input().accepted_offset()) {
    *record_.mutable_input() = input;
  }
}

absl::Time Execution::end_time() const {
  sandbox::MutexLock lock(&mutex_);
  return absl::FromUnixNanos(TimeUtil::TimestampToNanoseconds(
      record_.has_end_time() ? record_.end_time() : record_.create_time()));
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
}

}  // namespace server
