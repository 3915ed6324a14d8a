// A few threads for what may block: the disk, and starting processes.
//
// Thread-safe.

#ifndef SERVER_RUNTIME_WORKER_POOL_H_
#define SERVER_RUNTIME_WORKER_POOL_H_

#include <deque>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "sandbox/base/mutex.h"

namespace server {

class WorkerPool {
 public:
  explicit WorkerPool(int threads);
  ~WorkerPool();

  // Returns when what was given to it has run. What is given to it from now on
  // is dropped.
  void Stop();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void Run(absl::AnyInvocable<void()> job);

 private:
  void Work();

  sandbox::Mutex mutex_;
  std::deque<absl::AnyInvocable<void()>> jobs_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Last, since they use the others.
  std::vector<std::thread> threads_;
};

}  // namespace server

#endif  // SERVER_RUNTIME_WORKER_POOL_H_
