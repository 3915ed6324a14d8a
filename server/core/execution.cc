#include "server/core/execution.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/output_log.h"
#include "server/api/conversion.h"

namespace server {

using google::protobuf::util::TimeUtil;

Execution::Execution(std::string name, std::string directory,
                     corral::v1::Command command,
                     corral::supervisor::v1::RequestIdentity request)
    : name_(std::move(name)),
      directory_(std::move(directory)),
      command_(std::move(command)),
      request_(std::move(request)),
      streams_(StreamsOf(command_)) {
  sandbox::MutexLock lock(&mutex_);
  record_.set_state(corral::v1::Execution::STARTING);
  *record_.mutable_create_time() = TimeUtil::GetCurrentTime();
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

corral::v1::Execution Execution::Describe() const {
  corral::v1::Execution description;
  {
    sandbox::MutexLock lock(&mutex_);
    description = record_;
  }
  description.set_name(name_);
  *description.mutable_command() = command_;
  if (description.state() != corral::v1::Execution::STARTING) {
    for (corral::v1::StreamState& state : StreamStates(description.state())) {
      *description.add_streams() = std::move(state);
    }
  }
  return description;
}

corral::v1::InputState Execution::input() const {
  sandbox::MutexLock lock(&mutex_);
  return record_.input();
}

absl::StatusOr<Execution::LogReader> Execution::OpenLog(
    corral::v1::Stream stream) const {
  {
    sandbox::MutexLock lock(&mutex_);
    if (LogReader log = logs_[stream].lock(); log != nullptr) {
      return log;
    }
  }
  ASSIGN_OR_RETURN(sandbox::OutputLogReader opened,
                   sandbox::OutputLogReader::Open(
                       absl::StrCat(directory_, "/", LogFileName(stream))));
  auto log =
      std::make_shared<const sandbox::OutputLogReader>(std::move(opened));
  sandbox::MutexLock lock(&mutex_);
  logs_[stream] = log;
  return log;
}

bool Execution::Update(const corral::supervisor::v1::ExecutionRecord& record) {
  sandbox::MutexLock lock(&mutex_);
  if (IsEnd(record_.state())) {
    return false;
  }
  MergeRecord(record, &record_);
  SetExpireTime();
  return IsEnd(record_.state());
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

void Execution::SetExpireTime() {
  const corral::v1::OutputPolicy& policy = command_.output();
  if (!IsEnd(record_.state()) || !policy.has_keep_after_end()) {
    return;
  }
  // When it was last written, if nobody knows when it ended: a time that a
  // restart of the server does not change.
  google::protobuf::Timestamp end =
      record_.has_end_time() ? record_.end_time() : record_.create_time();
  for (const corral::v1::Stream stream : streams_) {
    struct stat log = {};
    if (!record_.has_end_time() &&
        ::stat(absl::StrCat(directory_, "/", LogFileName(stream)).c_str(),
               &log) == 0) {
      end = std::max(end, TimeUtil::TimeTToTimestamp(log.st_mtime));
    }
  }
  *record_.mutable_output_expire_time() = end + policy.keep_after_end();
}

std::optional<google::protobuf::Timestamp> Execution::output_expire_time()
    const {
  sandbox::MutexLock lock(&mutex_);
  return record_.has_output_expire_time()
             ? std::make_optional(record_.output_expire_time())
             : std::nullopt;
}

void Execution::OnOutput() {
  {
    sandbox::MutexLock lock(&mutex_);
    final_streams_.clear();
    ++output_changes_;
  }
  Notify();
}

void Execution::UpdateInput(const corral::v1::InputState& input) {
  sandbox::MutexLock lock(&mutex_);
  if (input.accepted_offset() >= record_.input().accepted_offset()) {
    *record_.mutable_input() = input;
  }
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

std::vector<corral::v1::StreamState> Execution::StreamStates(
    corral::v1::Execution::State state) const {
  uint64_t changes;
  {
    sandbox::MutexLock lock(&mutex_);
    if (!final_streams_.empty()) {
      return final_streams_;
    }
    changes = output_changes_;
  }
  bool final = IsEnd(state) &&
               command_.output().overflow() != corral::v1::OutputPolicy::BLOCK;
  std::vector<corral::v1::StreamState> states;
  for (const corral::v1::Stream stream : streams_) {
    const absl::StatusOr<LogReader> log = OpenLog(stream);
    if (!log.ok()) {
      continue;  // a start that failed early made no log
    }
    const absl::StatusOr<sandbox::OutputLogState> log_state = (*log)->state();
    if (!log_state.ok()) {
      final = false;  // of a disk that fails nothing is made up
      continue;
    }
    states.push_back(ToStreamState(stream, *log_state));
    if (state == corral::v1::Execution::LOST) {
      states.back().set_closed(true);
    }
    final = final && states.back().closed();
  }
  if (final) {
    sandbox::MutexLock lock(&mutex_);
    if (output_changes_ == changes) {
      final_streams_ = states;
    }
  }
  return states;
}

}  // namespace server
