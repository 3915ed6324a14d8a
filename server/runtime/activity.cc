#include "server/runtime/activity.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/status_macros.h"
#include "server/api/errors.h"
#include "server/runtime/timer_queue.h"

namespace server {
namespace {

// Short, since another server may serve long before this one has drained.
constexpr absl::Duration kLongestRetry = absl::Seconds(1);

constexpr absl::Duration kTooManyCallsRetry = absl::Seconds(1);
constexpr absl::Duration kTooMuchInputRetry = absl::Milliseconds(200);

}  // namespace

Activity::Activity(TimerQueue* timers, const Options& options)
    : timers_(timers), options_(options) {
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
  CountChanged();
}

Activity::Start Activity::BeginStart() {
  sandbox::MutexLock lock(&mutex_);
  ++starts_;
  return Start(this);
}

void Activity::StartEnded() {
  sandbox::MutexLock lock(&mutex_);
  --starts_;
  CountChanged();
}

absl::Status Activity::AddLasting(LastingCall* call,
                                  std::weak_ptr<LastingCall> owner) {
  sandbox::MutexLock lock(&mutex_);
  if (lasting_ended_) {
    return ServerDraining(retry_after_);
  }
  RETURN_IF_ERROR(CheckLastingCalls());
  lasting_.emplace(call, std::move(owner));
  return absl::OkStatus();
}

void Activity::RemoveLasting(LastingCall* call) {
  sandbox::MutexLock lock(&mutex_);
  lasting_.erase(call);
  CountChanged();
}

absl::StatusOr<Activity::Held> Activity::BeginHeld(uint64_t bytes,
                                                   uint64_t share) {
  sandbox::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckLastingCalls());
  const uint64_t left = options_.max_held_bytes - held_bytes_;
  if (bytes > left || share + bytes > left) {
    return TooMuchInput(options_.max_held_bytes, kTooMuchInputRetry);
  }
  ++held_;
  held_bytes_ += bytes;
  return Held(this, {bytes});
}

void Activity::HeldEnded(uint64_t bytes) {
  sandbox::MutexLock lock(&mutex_);
  --held_;
  held_bytes_ -= bytes;
}

absl::Status Activity::CheckLastingCalls() const {
  return lasting_.size() + held_ < options_.max_lasting_calls
             ? absl::OkStatus()
             : TooManyCalls(options_.max_lasting_calls, kTooManyCallsRetry);
}

void Activity::SandboxAdded() {
  sandbox::MutexLock lock(&mutex_);
  ++sandboxes_;
}

void Activity::SandboxRemoved() {
  sandbox::MutexLock lock(&mutex_);
  --sandboxes_;
  MaybeIdle();
  CountChanged();
}

void Activity::CommandStarted() {
  sandbox::MutexLock lock(&mutex_);
  ++commands_;
}

void Activity::CommandEnded() {
  sandbox::MutexLock lock(&mutex_);
  --commands_;
  CountChanged();
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

bool Activity::should_stop() {
  sandbox::MutexLock lock(&mutex_);
  return ShouldStop();
}

void Activity::AwaitStop() {
  sandbox::MutexLock lock(&mutex_);
  mutex_.Await(
      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ShouldStop(); });
}

template <typename Condition>
void Activity::AwaitFor(absl::Duration longest, Condition condition) {
  // Shared with the timer, which may still fire after Cancel().
  const auto is_over = std::make_shared<bool>(false);
  const TimerQueue::Id timer = timers_->RunAfter(longest, [this, is_over] {
    sandbox::MutexLock lock(&mutex_);
    *is_over = true;
    mutex_.Signal();
  });
  ++waiting_;
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return condition() || *is_over;
  });
  --waiting_;
  timers_->Cancel(timer);
}

bool Activity::Drain(absl::Duration longest, DrainFor what) {
  RefuseWork(std::min(longest, kLongestRetry));
  sandbox::MutexLock lock(&mutex_);
  AwaitFor(longest, [this, what]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return IsDrained(what) || stop_requests_ > 1 || handover_;
  });
  return IsDrained(what);
}

void Activity::RefuseWork(absl::Duration retry_after) {
  sandbox::MutexLock lock(&mutex_);
  draining_ = true;
  retry_after_ = retry_after;
  mutex_.Signal();
}

void Activity::AdmitWorkAgain() {
  sandbox::MutexLock lock(&mutex_);
  draining_ = false;
  mutex_.Signal();
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

bool Activity::AwaitNoStart(absl::Duration longest) {
  sandbox::MutexLock lock(&mutex_);
  AwaitFor(longest, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return starts_ == 0;
  });
  return starts_ == 0;
}

bool Activity::AwaitNoLastingCall(absl::Duration longest) {
  sandbox::MutexLock lock(&mutex_);
  AwaitFor(longest, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return lasting_.empty();
  });
  return lasting_.empty();
}

bool Activity::AwaitNoCall(absl::Duration longest) {
  sandbox::MutexLock lock(&mutex_);
  AwaitFor(longest, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return calls_ == 0;
  });
  return calls_ == 0;
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

void Activity::AwaitDraining(bool draining) {
  sandbox::MutexLock lock(&mutex_);
  mutex_.Await([this, draining]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return draining_ == draining;
  });
}

void Activity::CountChanged() {
  if (waiting_ > 0) {
    mutex_.Signal();
  }
}

void Activity::MaybeIdle() {
  if (options_.idle_exit == absl::ZeroDuration() || !idle()) {
    return;
  }
  // A call that began after the timer was armed has changed idle_period_.
  const uint64_t period = ++idle_period_;
  timers_->Cancel(idle_timer_);
  idle_timer_ = timers_->RunAfter(options_.idle_exit, [this, period] {
    sandbox::MutexLock lock(&mutex_);
    idle_too_long_ = idle_too_long_ || (idle() && idle_period_ == period);
    mutex_.Signal();
  });
}

}  // namespace server
