// The transitions of a sandbox: Handle() passes an event to the state, and
// Perform() takes the step that the state asks for. Events before Attach() wait
// for it.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/mutex.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/core/execution.h"
#include "server/core/lanes.h"
#include "server/core/recovery.h"
#include "server/core/retention.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_state.h"
#include "server/core/state_directory.h"
#include "server/core/teardown_queue.h"
#include "server/runtime/timer_queue.h"

namespace server {

using sandbox::MutexLock;
using Action = SandboxState::Action;
using Event = SandboxState::Event;

void Sandbox::Attach(
    std::unique_ptr<sandbox::SupervisorConnection> supervisor) {
  std::vector<Action> actions;
  {
    MutexLock lock(&mutex_);
    supervisor_ = std::move(supervisor);
    for (const EarlyEvent& early : *early_) {
      actions.push_back(state_.Handle(early.event, early.cause));
    }
    early_.reset();
  }
  for (const Action action : actions) {
    Perform(action);
  }
}

void Sandbox::Handle(Event event, std::optional<Cause> cause) {
  Action action;
  {
    MutexLock lock(&mutex_);
    if (early_.has_value()) {
      early_->push_back({event, cause});
      return;
    }
    action = state_.Handle(event, cause);
  }
  Perform(action);
}

void Sandbox::Perform(Action action) {
  switch (action) {
    case Action::kNothing:
      return;
    case Action::kAnswerReady:
      AnswerReady();
      return;
    case Action::kRecordDeletion:
      AnswerReady();
      RecordDeletion();
      return;
    case Action::kKill:
      AwaitKill();
      return;
    case Action::kReportLosses:
      ReportLosses();
      return;
    case Action::kRemoveFiles:
      AnswerReady();
      EndThen([self = shared_from_this()] {
        // The retention of the server must not wait for a disk that fails.
        self->EndRecovery();
        self->environment_.remove_files(self);
      });
      return;
    case Action::kRecordAndRemoveFiles:
      environment_.lanes->kills.Run([self = shared_from_this()] {
        self->WriteDeletion();
        self->Perform(Action::kRemoveFiles);
      });
      return;
    case Action::kAnswerRemoved:
      AnswerRemoved();
      return;
  }
}

void Sandbox::AnswerReady() {
  std::vector<Done> waiters;
  {
    MutexLock lock(&mutex_);
    if (!creation_failure_.ok()) {
      return;  // AnswerRemoved() answers them when nothing is left
    }
    waiters.swap(ready_waiters_);
  }
  for (Done& ready : waiters) {
    ready(absl::OkStatus());
  }
}

void Sandbox::RecordDeletion() {
  environment_.lanes->kills.Run([self = shared_from_this()] {
    self->WriteDeletion();
    self->Handle(Event::kDeletionRecorded);
  });
  // A disk that hangs must not hold up the kill.
  const TimerQueue::Id timer =
      environment_.timers->RunAfter(kRecordPatience, [weak = weak_from_this()] {
        if (const auto self = weak.lock(); self != nullptr) {
          self->Handle(Event::kDeletionRecorded);
        }
      });
  MutexLock lock(&mutex_);
  if (state_.state() == SandboxState::State::kRecordingDeletion) {
    record_timer_ = timer;
  } else {
    environment_.timers->Cancel(timer);
  }
}

void Sandbox::WriteDeletion() {
  wire::DeleteSandbox deletion;
  {
    MutexLock lock(&mutex_);
    deletion.set_cause(
        state_.deletion_cause().value_or(wire::ExitRecord::SANDBOX_DELETED));
  }
  const absl::Status written =
      StateDirectory::WriteDeletion(spec_.directory(), deletion);
  if (!written.ok() && !absl::IsNotFound(written)) {
    LOG(WARNING) << "cannot record the deletion of " << spec_.name() << ": "
                 << written.message();
  }
}

void Sandbox::AwaitKill() {
  {
    MutexLock lock(&mutex_);
    environment_.timers->Cancel(record_timer_);
  }
  environment_.teardowns->Enter(
      [weak = weak_from_this()](TeardownQueue::Turn turn) {
        if (const auto self = weak.lock(); self != nullptr) {
          self->Kill(std::move(turn));
        }
      });
}

void Sandbox::Kill(TeardownQueue::Turn turn) {
  Cause cause = wire::ExitRecord::SANDBOX_DELETED;
  std::shared_ptr<sandbox::SupervisorConnection> supervisor;
  {
    MutexLock lock(&mutex_);
    cause = state_.deletion_cause().value_or(cause);
    supervisor = state_.gone() ? nullptr : supervisor_;
  }
  if (supervisor == nullptr) {
    return;  // OnGone() follows, or came while this waited for its turn
  }
  // A supervisor answers when no process and no control group is left.
  supervisor->DeleteSandbox(
      cause, [name = spec_.name(),
              turn = std::move(turn)](const absl::Status& status) {
        if (!status.ok()) {
          LOG(WARNING) << "cannot delete " << name << ": " << status.message();
        }
      });
}

void Sandbox::ReportLosses() {
  environment_.lanes->records.Run([self = shared_from_this()] {
    self->SettleFailure();
    self->recovery_.AfterReading([weak = self->weak_from_this()] {
      if (const auto self = weak.lock(); self != nullptr) {
        self->EndThen([self] { self->OnLossesReported(); });
      }
    });
  });
}

void Sandbox::AnswerRemoved() {
  for (const ExecutionPtr& execution :
       executions_.List("", executions_.size())) {
    environment_.all_ended->Removed(execution);
    environment_.heap->OnFreed();
  }
  std::vector<Done> unmade;
  std::vector<Done> removed;
  absl::Status failure;
  {
    MutexLock lock(&mutex_);
    failure = creation_failure_;
    unmade.swap(ready_waiters_);
    removed.swap(removal_waiters_);
    for (const std::string& id : execution_deletions_.ids()) {
      for (Done& done : execution_deletions_.Take(id)) {
        removed.push_back(std::move(done));
      }
    }
  }
  for (Done& ready : unmade) {
    ready(failure);
  }
  for (Done& done : removed) {
    done(absl::OkStatus());
  }
}

}  // namespace server
