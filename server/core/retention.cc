#include "server/core/retention.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
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

bool Retention::EndsBefore::operator()(const Kept& one,
                                       const Kept& other) const {
  const auto key = [](const Kept& kept) {
    return std::tie(kept.end_ns, kept.execution->sandbox().id(),
                    kept.execution->id());
  };
  return key(one) < key(other);
}

void Retention::Ended(const ExecutionPtr& execution) {
  const absl::Time end = execution->end_time();
  TimerQueue::TimePoint due = TimerQueue::TimePoint::max();
  if (limits_.max_age < absl::InfiniteDuration()) {
    const absl::Duration left =
        std::clamp(limits_.max_age - (absl::Now() - end), absl::ZeroDuration(),
                   limits_.max_age);
    due = timers_->Now() + absl::ToChronoNanoseconds(left);
  }
  const Kept kept = {absl::ToUnixNanos(end), due, execution};
  MutexLock lock(&mutex_);
  if (aside_.count(kept) == 0) {
    by_end_.insert(kept);
  }
}

void Retention::Removed(const ExecutionPtr& execution) {
  const Kept kept = {absl::ToUnixNanos(execution->end_time()), {}, execution};
  MutexLock lock(&mutex_);
  by_end_.erase(kept);
  aside_.erase(kept);
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
  while (const std::optional<Kept> next = TakeNext()) {
    const std::string name = next->execution->name();
    if (executions_.in_use(name)) {
      LookAgainLater(*next);
      continue;
    }
    executions_.remove(name, [weak = weak_from_this(),
                              taken = *next](const absl::Status& status) {
      if (const auto self = weak.lock(); self != nullptr) {
        self->OnRemoved(taken, status);
        self->Enforce();
      }
    });
  }
}

std::optional<Retention::Kept> Retention::TakeNext() {
  MutexLock lock(&mutex_);
  if (suspensions_ == 0 && !by_end_.empty() && removing_ < kMaxRemovals) {
    const Kept first = *by_end_.begin();
    if (by_end_.size() > limits_.max_count || first.due <= timers_->Now()) {
      by_end_.erase(by_end_.begin());
      aside_.insert(first);
      ++removing_;
      return first;
    }
  }
  // Cleared under the same lock under which nothing was found: an Enforce()
  // that returned early had added its work before that, so this one has seen
  // it.
  enforcing_ = false;
  ArmTimer();
  return std::nullopt;
}

void Retention::OnRemoved(const Kept& taken, const absl::Status& status) {
  if (!status.ok()) {
    LOG(WARNING) << "ended execution " << taken.execution->name()
                 << " is not removed: " << status.message();
    LookAgainLater(taken);
    return;
  }
  MutexLock lock(&mutex_);
  --removing_;
  aside_.erase(taken);
}

void Retention::LookAgainLater(const Kept& taken) {
  {
    MutexLock lock(&mutex_);
    --removing_;
  }
  timers_->RunAfter(kRetry, [weak = weak_from_this(), taken] {
    const auto self = weak.lock();
    if (self == nullptr) {
      return;
    }
    {
      MutexLock lock(&self->mutex_);
      if (self->aside_.erase(taken) != 0) {
        self->by_end_.insert(taken);
      }
    }
    self->Enforce();
  });
}

void Retention::ArmTimer() {
  timers_->Cancel(timer_);
  if (suspensions_ > 0 || by_end_.empty() ||
      limits_.max_age == absl::InfiniteDuration() ||
      removing_ >= kMaxRemovals) {
    return;
  }
  const auto left = by_end_.begin()->due - timers_->Now();
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
