#include "sandbox/supervisor/background.h"

#include <utility>

namespace sandbox {

BackgroundThread::~BackgroundThread() {
  {
    MutexLock lock(&mutex_);
    stop_ = true;
    mutex_.Signal();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void BackgroundThread::Run(Function function) {
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { Loop(); });
  }
  {
    MutexLock lock(&mutex_);
    functions_.push_back(std::move(function));
  }
  // Not before: the thread would wake up only to wait for the lock.
  mutex_.Signal();
}

void BackgroundThread::Loop() {
  while (true) {
    Function function;
    {
      MutexLock lock(&mutex_);
      mutex_.Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return stop_ || !functions_.empty();
      });
      if (stop_) {
        return;
      }
      function = std::move(functions_.front());
      functions_.pop_front();
    }
    function();
  }
}

}  // namespace sandbox
