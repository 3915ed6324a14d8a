#include "server/runtime/activity.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/api/errors.h"
#include "server/runtime/timer_queue.h"

namespace server {
namespace {

// Another server may be there long before the end of a drain.
constexpr absl::Duration kLongestRetry = absl::Seconds(1);

}  // namespace

Activity::Activity(TimerQueue* timers, absl::Duration idle_exit)
    : timers_(timers), idle_exit_(idle_exit) {
  sandbox::MutexLock lock(&mutex_);
  MaybeIdle();
}

Activity::Call Activity::BeginCall() {
  sandbox::MutexLock lock(&mutex_);
  ++calls_;
  return Call(this);
}

void Activity::CallEnded() {
  sandbox::MutexLock lock(&mutex_);
  --calls_;
  MaybeIdle();
  if (draining_ || calls_ == 0) {
    mutex_.Signal();
  }
}

Activity::Start Activity::BeginStart() {
  sandbox::MutexLock lock(&mutex_);
  ++starts_;
  return Start(this);
}

void Activity::StartEnded() {
  sandbox::MutexLock lock(&mutex_);
  --starts_;
  if (draining_ || starts_ == 0) {
    mutex_.Signal();
  }
}

absl::Status Activity::AddLasting(LastingCall* call,
                                  std::weak_ptr<LastingCall> owner) {
  sandbox::MutexLock lock(&mutex_);
  if (lasting_ended_) {
    return ServerDraining(retry_after_);
  }
  lasting_.emplace(call, std::move(owner));
  return absl::OkStatus();
}

void Activity::RemoveLasting(LastingCall* call) {
  sandbox::MutexLock lock(&mutex_);
  lasting_.erase(call);
  if (draining_) {
    mutex_.Signal();
  }
}

void Activity::SandboxAdded() {
  sandbox::MutexLock lock(&mutex_);
  ++sandboxes_;
}

void Activity::SandboxRemoved() {
  sandbox::MutexLock lock(&mutex_);
  --sandboxes_;
  MaybeIdle();
  mutex_.Signal();
}

void Activity::CommandStarted() {
  sandbox::MutexLock lock(&mutex_);
  ++commands_;
}

void Activity::CommandEnded() {
  sandbox::MutexLock lock(&mutex_);
  --commands_;
  mutex_.Signal();
}

void Activity::RequestStop() {
  sandbox::MutexLock lock(&mutex_);
  ++stop_requests_;
  mutex_.Signal();
}

void Activity::RequestHandover() {
  sandbox::MutexLock lock(&mutex_);
  handover_ = true;
  mutex_.Signal();
}

void Activity::CancelHandover() {
  sandbox::MutexLock lock(&mutex_);
  handover_ = false;
}

bool Activity::handover_requested() {
  sandbox::MutexLock lock(&mutex_);
  return handover_;
}

void Activity::AwaitStop() {
  sandbox::MutexLock lock(&mutex_);
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stop_requests_ > 0 || idle_too_long_ || handover_;
  });
}

template <typename Condition>
void Activity::AwaitFor(absl::Duration longest, Condition condition) {
  ArmDeadline(longest);
  mutex_.Await([this, condition]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return condition() || deadline_passed_;
  });
}

void Activity::Drain(absl::Duration longest, DrainFor what) {
  RefuseWork(std::min(longest, kLongestRetry));
  sandbox::MutexLock lock(&mutex_);
  AwaitFor(longest, [this, what]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool commands_done = what == DrainFor::kReaders || commands_ == 0;
    return (commands_done && lasting_.empty()) || stop_requests_ > 1 ||
           handover_;
  });
}

void Activity::RefuseWork(absl::Duration retry_after) {
  sandbox::MutexLock lock(&mutex_);
  draining_ = true;
  retry_after_ = retry_after;
}

void Activity::AdmitWorkAgain() {
  sandbox::MutexLock lock(&mutex_);
  draining_ = false;
}

void Activity::EndLastingCalls() {
  std::map<LastingCall*, std::weak_ptr<LastingCall>> lasting;
  absl::Status status;
  {
    sandbox::MutexLock lock(&mutex_);
    lasting_ended_ = true;
    lasting = lasting_;
    status = ServerDraining(retry_after_);
  }
  for (const auto& [call, owner] : lasting) {
    if (const auto alive = owner.lock(); alive != nullptr) {
      alive->Fail(status);
    }
  }
}

void Activity::AwaitNoStart(absl::Duration longest) {
  sandbox::MutexLock lock(&mutex_);
  AwaitFor(longest, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return starts_ == 0;
  });
}

void Activity::AwaitNoLastingCall(absl::Duration longest) {
  sandbox::MutexLock lock(&mutex_);
  AwaitFor(longest, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return lasting_.empty();
  });
}

void Activity::AwaitNoCall(absl::Duration longest) {
  sandbox::MutexLock lock(&mutex_);
  AwaitFor(longest, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return calls_ == 0;
  });
}

bool Activity::AwaitNoSandbox(absl::Duration longest) {
  sandbox::MutexLock lock(&mutex_);
  AwaitFor(longest, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return sandboxes_ == 0;
  });
  return sandboxes_ == 0;
}

absl::Status Activity::AdmitWork() {
  sandbox::MutexLock lock(&mutex_);
  return draining_ ? ServerDraining(retry_after_) : absl::OkStatus();
}

bool Activity::draining() {
  sandbox::MutexLock lock(&mutex_);
  return draining_;
}

void Activity::MaybeIdle() {
  if (idle_exit_ == absl::ZeroDuration() || !idle()) {
    return;
  }
  // What began after the timer was armed has moved idle_period_ on.
  const uint64_t period = ++idle_period_;
  timers_->Cancel(idle_timer_);
  idle_timer_ = timers_->RunAfter(idle_exit_, [this, period] {
    sandbox::MutexLock lock(&mutex_);
    idle_too_long_ = idle_too_long_ || (idle() && idle_period_ == period);
    mutex_.Signal();
  });
}

void Activity::ArmDeadline(absl::Duration longest) {
  // The timer of an earlier deadline may fire in spite of Cancel.
  const uint64_t deadline = ++deadlines_;
  timers_->Cancel(deadline_timer_);
  deadline_passed_ = false;
  deadline_timer_ = timers_->RunAfter(longest, [this, deadline] {
    sandbox::MutexLock lock(&mutex_);
    deadline_passed_ = deadline_passed_ || deadline == deadlines_;
    mutex_.Signal();
  });
}

}  // namespace server
