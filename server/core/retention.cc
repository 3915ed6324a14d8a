#include "server/core/retention.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/base/log.h"
#include "sandbox/base/mutex.h"
#include "server/runtime/timer_queue.h"

namespace server {

using sandbox::MutexLock;

std::shared_ptr<Retention> Retention::Create(const Limits& limits,
                                             TimerQueue* timers,
                                             Executions executions) {
  // make_shared cannot reach the constructor.
  return std::shared_ptr<Retention>(
      new Retention(limits, timers, std::move(executions)));
}

Retention::~Retention() {
  MutexLock lock(&mutex_);
  timers_->Cancel(timer_);
}

void Retention::Ended(const std::string& id, absl::Time end) {
  TimerQueue::TimePoint due = TimerQueue::TimePoint::max();
  if (limits_.max_age < absl::InfiniteDuration()) {
    const absl::Duration left =
        std::clamp(limits_.max_age - (absl::Now() - end), absl::ZeroDuration(),
                   limits_.max_age);
    due = timers_->Now() + absl::ToChronoNanoseconds(left);
  }
  MutexLock lock(&mutex_);
  if (kept_.emplace(id, Kept{end, due}).second) {
    by_end_.emplace(end, id);
  }
}

void Retention::Removed(const std::string& id) {
  MutexLock lock(&mutex_);
  if (const auto found = kept_.find(id); found != kept_.end()) {
    by_end_.erase({found->second.end, id});
    kept_.erase(found);
  }
}

Retention::Suspension::Suspension(std::shared_ptr<Retention> retention)
    : retention_(std::move(retention)) {
  MutexLock lock(&retention_->mutex_);
  ++retention_->suspensions_;
}

Retention::Suspension::~Suspension() {
  if (retention_ == nullptr) {
    return;  // moved from
  }
  {
    MutexLock lock(&retention_->mutex_);
    --retention_->suspensions_;
  }
  retention_->Enforce();
}

void Retention::Enforce() {
  {
    MutexLock lock(&mutex_);
    if (enforcing_) {
      return;
    }
    enforcing_ = true;
  }
  while (const std::optional<std::string> id = TakeNext()) {
    if (executions_.in_use(*id)) {
      LookAgainLater(*id);
      continue;
    }
    executions_.remove(
        *id, [weak = weak_from_this(), id = *id](const absl::Status& status) {
          if (const auto self = weak.lock(); self != nullptr) {
            self->OnRemoved(id, status);
            self->Enforce();
          }
        });
  }
}

std::optional<std::string> Retention::TakeNext() {
  MutexLock lock(&mutex_);
  if (suspensions_ == 0 && !by_end_.empty() &&
      removing_.size() < kMaxRemovals) {
    const std::string id = by_end_.begin()->second;
    if (by_end_.size() > limits_.max_count ||
        kept_.at(id).due <= timers_->Now()) {
      by_end_.erase(by_end_.begin());
      removing_.insert(id);
      return id;
    }
  }
  // Cleared under the same lock under which nothing was found: an Enforce()
  // that returned early had added its work before that, so this one has seen
  // it.
  enforcing_ = false;
  ArmTimer();
  return std::nullopt;
}

void Retention::OnRemoved(const std::string& id, const absl::Status& status) {
  if (!status.ok()) {
    LOG(WARNING) << "ended execution " << id
                 << " is not removed: " << status.message();
    LookAgainLater(id);
    return;
  }
  MutexLock lock(&mutex_);
  removing_.erase(id);
  kept_.erase(id);
}

void Retention::LookAgainLater(const std::string& id) {
  {
    MutexLock lock(&mutex_);
    removing_.erase(id);
  }
  timers_->RunAfter(kRetry, [weak = weak_from_this(), id] {
    const auto self = weak.lock();
    if (self == nullptr) {
      return;
    }
    {
      MutexLock lock(&self->mutex_);
      if (const auto found = self->kept_.find(id); found != self->kept_.end()) {
        self->by_end_.emplace(found->second.end, id);
      }
    }
    self->Enforce();
  });
}

void Retention::ArmTimer() {
  timers_->Cancel(timer_);
  if (suspensions_ > 0 || by_end_.empty() ||
      limits_.max_age == absl::InfiniteDuration() ||
      removing_.size() >= kMaxRemovals) {
    return;
  }
  const auto left = kept_.at(by_end_.begin()->second).due - timers_->Now();
  timer_ = timers_->RunAfter(absl::FromChrono(left), [weak = weak_from_this()] {
    if (const auto self = weak.lock(); self != nullptr) {
      self->Enforce();
    }
  });
}

size_t Retention::size() const {
  MutexLock lock(&mutex_);
  return by_end_.size();
}

}  // namespace server
