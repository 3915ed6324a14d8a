#include "server/runtime/worker_pool.h"

#include <chrono>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "sandbox/base/mutex.h"

namespace server {

using sandbox::MutexLock;

WorkerPool::WorkerPool(size_t jobs, Clock::duration patience)
    : most_jobs_(jobs), patience_(patience) {
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < most_jobs_ + 1; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

WorkerPool::~WorkerPool() { Stop(); }

void WorkerPool::Stop() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    threads.swap(threads_);
    mutex_.Signal();
    came_.SignalAll();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void WorkerPool::Run(absl::AnyInvocable<void()> job) {
  MutexLock lock(&mutex_);
  if (!stopping_) {
    jobs_.push_back(std::move(job));
    came_.SignalOne();
  }
}

void WorkerPool::RunNext(absl::AnyInvocable<void()> job) {
  MutexLock lock(&mutex_);
  if (!stopping_) {
    jobs_.push_front(std::move(job));
    came_.SignalOne();
  }
}

void WorkerPool::AwaitIdle() {
  MutexLock lock(&mutex_);
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return running_.empty() && jobs_.empty();
  });
}

void WorkerPool::Work() {
  while (true) {
    absl::AnyInvocable<void()> job;
    std::multiset<Clock::time_point>::iterator begin;
    {
      MutexLock lock(&mutex_);
      if (!AwaitJob()) {
        return;
      }
      job = std::move(jobs_.front());
      jobs_.pop_front();
      begin = running_.insert(Clock::now());
      // Never after Stop(), which has taken the threads.
      if (running_.size() == threads_.size()) {
        AddThread();
      }
    }
    job();
    job = nullptr;  // what it owns may be destroyed here, without the lock
    MutexLock lock(&mutex_);
    running_.erase(begin);
    mutex_.Signal();
  }
}

bool WorkerPool::AwaitJob() {
  while (true) {
    came_.Await(&mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || !jobs_.empty();
    });
    if (jobs_.empty()) {
      return false;
    }
    // The oldest job that does not hang.
    const auto oldest = running_.upper_bound(Clock::now() - patience_);
    const auto alive = std::distance(oldest, running_.end());
    if (static_cast<size_t>(alive) < most_jobs_) {
      return true;
    }
    const size_t running = running_.size();
    mutex_.AwaitUntil(*oldest + patience_,
                      [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                        return running_.size() < running || jobs_.empty();
                      });
  }
}

void WorkerPool::AddThread() {
  if (threads_.size() == most_jobs_ + kMostHanging) {
    return;
  }
  try {
    threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {
    // The host is short of threads. The jobs wait for one that is there.
  }
}

}  // namespace server
