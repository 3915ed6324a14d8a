#include "server/runtime/thread_timer_queue.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace server {

ThreadTimerQueue::ThreadTimerQueue() : thread_([this] { Run(); }) {}

ThreadTimerQueue::~ThreadTimerQueue() { Stop(); }

void ThreadTimerQueue::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  // Destroyed without the lock, and while this object still works, since the
  // destructor of a captured object may call it.
  std::map<Key, absl::AnyInvocable<void()>> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    dropped.swap(functions_);
    times_.clear();
  }
}

TimerQueue::TimePoint ThreadTimerQueue::Now() const {
  return std::chrono::steady_clock::now();
}

TimerQueue::Id ThreadTimerQueue::RunAfter(absl::Duration delay,
                                          absl::AnyInvocable<void()> function) {
  const TimePoint when = Now() + absl::ToChronoNanoseconds(delay);
  bool too_late = false;
  Id id = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    id = ++last_id_;
    if (stopping_) {
      return id;
    }
    times_.emplace(id, when);
    functions_.emplace(Key(when, id), std::move(function));
    too_late = next_look_ > when;
  }
  if (too_late) {
    changed_.notify_all();
  }
  return id;
}

void ThreadTimerQueue::Cancel(Id id) {
  // Destroyed after the lock is released: the destructor of what the function
  // captured may call this object.
  absl::AnyInvocable<void()> dropped;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto time = times_.find(id);
  if (time == times_.end()) {
    return;
  }
  const auto function = functions_.find(Key(time->second, id));
  dropped = std::move(function->second);
  if (function == functions_.begin()) {
    kept_look_ = std::min(kept_look_, time->second);
  }
  functions_.erase(function);
  times_.erase(time);
}

TimerQueue::TimePoint ThreadTimerQueue::NextLook() const {
  return functions_.empty()
             ? kept_look_
             : std::min(kept_look_, functions_.begin()->first.first);
}

void ThreadTimerQueue::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    next_look_ = NextLook();
    if (next_look_ == TimePoint::max()) {
      changed_.wait(lock);
      continue;
    }
    const TimePoint now = Now();
    if (next_look_ > now) {
      changed_.wait_until(lock, next_look_);
      continue;
    }
    if (kept_look_ <= now) {
      kept_look_ = TimePoint::max();
    }
    const auto first = functions_.begin();
    if (first == functions_.end() || first->first.first > now) {
      continue;
    }
    next_look_ = TimePoint::min();
    absl::AnyInvocable<void()> function = std::move(first->second);
    times_.erase(first->first.second);
    functions_.erase(first);
    lock.unlock();
    function();
    function = nullptr;
    lock.lock();
  }
}

}  // namespace server
