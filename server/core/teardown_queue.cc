#include "server/core/teardown_queue.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "sandbox/base/mutex.h"
#include "server/runtime/timer_queue.h"

namespace server {

using sandbox::MutexLock;

TeardownQueue::Turn::Turn(std::weak_ptr<TeardownQueue> queue, uint64_t id)
    : queue_(std::move(queue)), id_(id) {}

TeardownQueue::Turn::~Turn() {
  if (const std::shared_ptr<TeardownQueue> queue = queue_.lock();
      queue != nullptr) {
    queue->Leave(id_);
  }
}

std::shared_ptr<TeardownQueue> TeardownQueue::Create(TimerQueue* timers,
                                                     size_t most) {
  // make_shared cannot reach the constructor.
  return std::shared_ptr<TeardownQueue>(new TeardownQueue(timers, most));
}

TeardownQueue::~TeardownQueue() {
  MutexLock lock(&mutex_);
  timers_->Cancel(timer_);
}

void TeardownQueue::Enter(Begin begin) {
  {
    MutexLock lock(&mutex_);
    waiting_.push_back(std::move(begin));
  }
  Advance();
}

void TeardownQueue::Leave(uint64_t id) {
  {
    MutexLock lock(&mutex_);
    running_.erase(id);
  }
  Advance();
}

void TeardownQueue::Advance() {
  {
    MutexLock lock(&mutex_);
    if (advancing_) {
      return;
    }
    advancing_ = true;
  }
  // A loop, since a turn may end before `begin` returns, and so may the next.
  while (std::optional<Next> next = TakeNext()) {
    next->begin(Turn(weak_from_this(), next->id));
  }
}

std::optional<TeardownQueue::Next> TeardownQueue::TakeNext() {
  MutexLock lock(&mutex_);
  TimerQueue::TimePoint oldest;
  if (!waiting_.empty() && CountLively(&oldest) < most_) {
    Next next = {++last_id_, std::move(waiting_.front())};
    waiting_.pop_front();
    running_.emplace(next.id, timers_->Now());
    return next;
  }
  // Cleared under the same lock under which nothing was found, so that what
  // another thread adds is seen.
  advancing_ = false;
  timers_->Cancel(timer_);
  timer_ = 0;
  if (!waiting_.empty()) {
    const absl::Duration left =
        kPatience - absl::FromChrono(timers_->Now() - oldest);
    timer_ = timers_->RunAfter(left, [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self != nullptr) {
        self->Advance();
      }
    });
  }
  return std::nullopt;
}

size_t TeardownQueue::CountLively(TimerQueue::TimePoint* oldest) const {
  const TimerQueue::TimePoint hanging =
      timers_->Now() - absl::ToChronoNanoseconds(kPatience);
  size_t count = 0;
  // The latest first: those before one that hangs hang, too.
  for (auto begun = running_.rbegin();
       begun != running_.rend() && begun->second > hanging; ++begun) {
    *oldest = begun->second;
    ++count;
  }
  return count;
}

}  // namespace server
