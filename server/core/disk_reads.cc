#include "server/core/disk_reads.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sandbox/base/mutex.h"

namespace server {

using sandbox::MutexLock;

DiskReads::DiskReads(size_t threads) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

DiskReads::~DiskReads() { Stop(); }

void DiskReads::Run(const std::string& key, Job job) {
  MutexLock lock(&mutex_);
  if (stopping_) {
    return;
  }
  const auto [jobs, is_new] = jobs_.try_emplace(key);
  jobs->second.push_back(std::move(job));
  if (is_new) {
    ready_.push_back(key);
    came_.SignalOne();
  }
}

void DiskReads::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    came_.SignalAll();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

void DiskReads::Work() {
  while (true) {
    std::string key;
    Job job;  // destroyed without the lock
    {
      MutexLock lock(&mutex_);
      came_.Await(&mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return !ready_.empty() || stopping_;
      });
      if (ready_.empty()) {
        return;
      }
      key = std::move(ready_.front());
      ready_.pop_front();
      std::deque<Job>& jobs = jobs_[key];
      job = std::move(jobs.front());
      jobs.pop_front();
    }
    job();
    MutexLock lock(&mutex_);
    if (jobs_[key].empty()) {
      jobs_.erase(key);
    } else {
      ready_.push_back(std::move(key));  // this thread takes the next one
    }
  }
}

}  // namespace server
