#include "server/activity.h"

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/errors.h"
#include "server/timer_queue.h"

namespace server {

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

void Activity::AwaitStop() {
  sandbox::MutexLock lock(&mutex_);
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stop_requests_ > 0 || idle_too_long_;
  });
}

void Activity::Drain(absl::Duration longest) {
  sandbox::MutexLock lock(&mutex_);
  draining_ = true;
  drain_for_ = longest;
  ArmDeadline(longest);
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return commands_ == 0 || deadline_passed_ || stop_requests_ > 1;
  });
}

bool Activity::AwaitNoSandbox(absl::Duration longest) {
  sandbox::MutexLock lock(&mutex_);
  ArmDeadline(longest);
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return sandboxes_ == 0 || deadline_passed_;
  });
  return sandboxes_ == 0;
}

absl::Status Activity::AdmitWork() {
  sandbox::MutexLock lock(&mutex_);
  return draining_ ? ServerDraining(drain_for_) : absl::OkStatus();
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
