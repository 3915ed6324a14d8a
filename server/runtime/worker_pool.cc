#include "server/runtime/worker_pool.h"

#include <utility>

#include "absl/functional/any_invocable.h"
#include "sandbox/base/mutex.h"

namespace server {

WorkerPool::WorkerPool(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

WorkerPool::~WorkerPool() { Stop(); }

void WorkerPool::Stop() {
  {
    sandbox::MutexLock lock(&mutex_);
    stopping_ = true;
    mutex_.Signal();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

void WorkerPool::Run(absl::AnyInvocable<void()> job) {
  sandbox::MutexLock lock(&mutex_);
  if (!stopping_) {
    jobs_.push_back(std::move(job));
    mutex_.Signal();
  }
}

void WorkerPool::RunNext(absl::AnyInvocable<void()> job) {
  sandbox::MutexLock lock(&mutex_);
  if (!stopping_) {
    jobs_.push_front(std::move(job));
    mutex_.Signal();
  }
}

void WorkerPool::AwaitIdle() {
  sandbox::MutexLock lock(&mutex_);
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return running_ == 0 && jobs_.empty();
  });
}

void WorkerPool::Work() {
  while (true) {
    absl::AnyInvocable<void()> job;
    {
      sandbox::MutexLock lock(&mutex_);
      mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !jobs_.empty();
      });
      if (jobs_.empty()) {
        return;
      }
      job = std::move(jobs_.front());
      jobs_.pop_front();
      ++running_;
    }
    job();
    job = nullptr;  // what it owns may be destroyed here, without the lock
    sandbox::MutexLock lock(&mutex_);
    --running_;
    mutex_.Signal();
  }
}

}  // namespace server
