#include "server/core/execution_table.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/mutex.h"
#include "server/api/errors.h"
#include "server/core/execution.h"

namespace server {

using sandbox::MutexLock;

ExecutionTable::ExecutionPtr ExecutionTable::Admit(
    const std::string& id,
    const corral::supervisor::v1::RequestIdentity& request, Make make,
    Started started) {
  using Match = RequestTable<Execution>::Match;
  absl::StatusOr<ExecutionPtr> answer;
  {
    MutexLock lock(&mutex_);
    const auto found = executions_.FindSame(id, request);
    switch (found.match) {
      case Match::kNone: {
        if (running_.size() >= max_running_) {
          answer = QuotaExceeded(
              corral::v1::TOO_MANY_EXECUTIONS, sandbox_,
              absl::StrCat("at most ", max_running_,
                           " executions run in a sandbox at a time"));
          break;
        }
        absl::StatusOr<Entry> made = make();
        if (!made.ok()) {
          answer = made.status();
          break;
        }
        executions_.Insert(made->execution);
        running_.emplace(id, std::move(made->running));
        starts_.Add(id, std::move(started));
        return made->execution;
      }
      case Match::kSame:
        if (found.resource->state() == corral::v1::Execution::STARTING) {
          starts_.Add(found.resource->id(), std::move(started));
          return nullptr;
        }
        answer = found.resource;
        break;
      case Match::kOtherRequest:
        answer = RequestMismatch(request.request_id(), found.resource->name());
        break;
      case Match::kIdTaken:
        answer = ExecutionExists(found.resource->name());
        break;
    }
  }
  started(std::move(answer));
  return nullptr;
}

bool ExecutionTable::Insert(Entry entry) {
  MutexLock lock(&mutex_);
  if (!executions_.Insert(entry.execution)) {
    return false;
  }
  if (entry.running != nullptr) {
    running_.emplace(entry.execution->id(), std::move(entry.running));
  }
  return true;
}

void ExecutionTable::AnswerStart(const std::string& id) {
  std::vector<Started> callers;
  ExecutionPtr execution;
  {
    MutexLock lock(&mutex_);
    execution = executions_.Find(id);
    callers = starts_.Take(id);  // none without an execution
  }
  for (Started& started : callers) {
    started(execution);
  }
}

ExecutionTable::ExecutionPtr ExecutionTable::FailStart(
    const std::string& id, const absl::Status& error) {
  Forgotten forgotten = Forget(id);
  for (Started& started : forgotten.callers) {
    started(error);
  }
  return forgotten.execution;
}

void ExecutionTable::EndRunning(const std::string& id) {
  std::unique_ptr<RunningCommand> running;  // destroyed without the lock
  MutexLock lock(&mutex_);
  if (const auto found = running_.find(id); found != running_.end()) {
    running = std::move(found->second);
    running_.erase(found);
  }
}

ExecutionTable::ExecutionPtr ExecutionTable::Erase(const std::string& id) {
  Forgotten forgotten = Forget(id);
  for (Started& started : forgotten.callers) {
    started(forgotten.execution);
  }
  return forgotten.execution;
}

ExecutionTable::Forgotten ExecutionTable::Forget(const std::string& id) {
  Forgotten forgotten;
  MutexLock lock(&mutex_);
  forgotten.execution = executions_.Erase(id);
  forgotten.callers = starts_.Take(id);
  if (const auto found = running_.find(id); found != running_.end()) {
    forgotten.running = std::move(found->second);
    running_.erase(found);
  }
  return forgotten;
}

ExecutionTable::ExecutionPtr ExecutionTable::Find(const std::string& id) const {
  MutexLock lock(&mutex_);
  return executions_.Find(id);
}

std::vector<ExecutionTable::ExecutionPtr> ExecutionTable::List(
    const std::string& after, size_t limit) const {
  MutexLock lock(&mutex_);
  return executions_.ListAfter(after, limit);
}

std::map<std::string, ExecutionTable::ExecutionPtr> ExecutionTable::Unended()
    const {
  std::map<std::string, ExecutionPtr> unended;
  MutexLock lock(&mutex_);
  for (const auto& [id, running] : running_) {
    unended.emplace(id, executions_.Find(id));
  }
  return unended;
}

size_t ExecutionTable::size() const {
  MutexLock lock(&mutex_);
  return executions_.size();
}

size_t ExecutionTable::running() const {
  MutexLock lock(&mutex_);
  return running_.size();
}

}  // namespace server
