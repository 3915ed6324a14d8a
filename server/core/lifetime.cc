#include "server/core/lifetime.h"

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/runtime/timer_queue.h"

namespace server {

using sandbox::MutexLock;

std::shared_ptr<Lifetime> Lifetime::Create(TimerQueue* timers,
                                           absl::Duration idle_timeout) {
  // make_shared cannot reach the constructor.
  return std::shared_ptr<Lifetime>(new Lifetime(timers, idle_timeout));
}

Lifetime::~Lifetime() {
  MutexLock lock(&mutex_);
  timers_->Cancel(age_timer_);
  timers_->Cancel(idle_timer_);
}

void Lifetime::Begin(absl::Duration age_left, Expired expired) {
  MutexLock lock(&mutex_);
  expired_ = std::move(expired);
  if (age_left < absl::InfiniteDuration()) {
    age_timer_ = timers_->RunAfter(age_left, [weak = weak_from_this()] {
      if (const std::shared_ptr<Lifetime> self = weak.lock(); self != nullptr) {
        self->Expire();
      }
    });
  }
  last_use_ = timers_->Now();
  if (idle_timeout_ > absl::ZeroDuration()) {
    ArmIdle(idle_timeout_);
  }
}

void Lifetime::Hold() {
  MutexLock lock(&mutex_);
  ++holds_;
}

void Lifetime::Release() {
  MutexLock lock(&mutex_);
  --holds_;
  last_use_ = timers_->Now();
  // A timer that found a hold did not arm itself again.
  if (holds_ == 0 && idle_timer_ == 0 && expired_ != nullptr &&
      idle_timeout_ > absl::ZeroDuration()) {
    ArmIdle(idle_timeout_);
  }
}

void Lifetime::Touch() {
  MutexLock lock(&mutex_);
  last_use_ = timers_->Now();
}

void Lifetime::ArmIdle(absl::Duration delay) {
  idle_timer_ = timers_->RunAfter(delay, [weak = weak_from_this()] {
    if (const std::shared_ptr<Lifetime> self = weak.lock(); self != nullptr) {
      self->OnIdleTimer();
    }
  });
}

void Lifetime::OnIdleTimer() {
  {
    MutexLock lock(&mutex_);
    idle_timer_ = 0;
    if (holds_ > 0) {
      return;  // Release() arms it again
    }
    // A use only moves last_use_, which is cheaper than moving the timer.
    const absl::Duration left =
        idle_timeout_ - absl::FromChrono(timers_->Now() - last_use_);
    if (left > absl::ZeroDuration()) {
      ArmIdle(left);
      return;
    }
  }
  Expire();
}

void Lifetime::Expire() {
  Expired expired;
  {
    MutexLock lock(&mutex_);
    expired = std::move(expired_);
    expired_ = nullptr;
  }
  if (expired != nullptr) {
    expired();
  }
}

}  // namespace server
