#include "server/core/lifetime.h"

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/runtime/timer_queue.h"

namespace server {

using sandbox::MutexLock;

std::shared_ptr<Lifetime> Lifetime::Create(TimerQueue* timers,
                                           const Limits& limits) {
  // make_shared cannot reach the constructor.
  return std::shared_ptr<Lifetime>(new Lifetime(timers, limits));
}

Lifetime::~Lifetime() {
  MutexLock lock(&mutex_);
  timers_->Cancel(age_timer_);
  timers_->Cancel(idle_.timer);
  timers_->Cancel(lease_.timer);
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
  for (const Which which : {&Lifetime::idle_, &Lifetime::lease_}) {
    (this->*which).last_use = timers_->Now();
    MaybeArm(which);
  }
}

void Lifetime::Hold(Holder holder) {
  MutexLock lock(&mutex_);
  ++idle_.holds;
  if (holder == Holder::kCall) {
    ++lease_.holds;
  }
}

void Lifetime::Release(Holder holder) {
  MutexLock lock(&mutex_);
  ReleaseFrom(&Lifetime::idle_);
  if (holder == Holder::kCall) {
    ReleaseFrom(&Lifetime::lease_);
  }
}

void Lifetime::ReleaseFrom(Which which) {
  Countdown& countdown = this->*which;
  --countdown.holds;
  countdown.last_use = timers_->Now();
  // A timer that found a hold did not arm itself again.
  MaybeArm(which);
}

void Lifetime::Touch() {
  MutexLock lock(&mutex_);
  idle_.last_use = timers_->Now();
  lease_.last_use = idle_.last_use;
}

void Lifetime::MaybeArm(Which which) {
  const Countdown& countdown = this->*which;
  if (countdown.holds == 0 && countdown.timer == 0 && expired_ != nullptr &&
      countdown.timeout > absl::ZeroDuration()) {
    Arm(which, countdown.timeout);
  }
}

void Lifetime::Arm(Which which, absl::Duration delay) {
  (this->*which).timer =
      timers_->RunAfter(delay, [weak = weak_from_this(), which] {
        if (const auto self = weak.lock(); self != nullptr) {
          self->OnTimer(which);
        }
      });
}

void Lifetime::OnTimer(Which which) {
  {
    MutexLock lock(&mutex_);
    Countdown& countdown = this->*which;
    countdown.timer = 0;
    if (countdown.holds > 0) {
      return;  // ReleaseFrom() arms it again
    }
    // A use only moves last_use, which is cheaper than moving the timer.
    const absl::Duration left =
        countdown.timeout -
        absl::FromChrono(timers_->Now() - countdown.last_use);
    if (left > absl::ZeroDuration()) {
      Arm(which, left);
      return;
    }
  }
  Expire();
}

void Lifetime::Expire() {
  Expired expired;
  {
    MutexLock lock(&mutex_);
    expired.swap(expired_);
  }
  if (expired != nullptr) {
    expired();
  }
}

}  // namespace server
