// A few threads for work that may block: the disk, and starting processes.
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

  // Returns when all jobs given so far have run. Drops later ones.
  void Stop();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Runs `job` on one of the threads. Jobs begin in the order of the calls.
  void Run(absl::AnyInvocable<void()> job);

  // Runs `job` before all jobs that wait.
  void RunNext(absl::AnyInvocable<void()> job);

  // Blocks until no job runs or waits. Must not be called from a job.
  void AwaitIdle();

 private:
  void Work();

  sandbox::Mutex mutex_;
  std::deque<absl::AnyInvocable<void()>> jobs_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Last, since they use the others.
  std::vector<std::thread> threads_;
};

}  // namespace server

#endif  // SERVER_RUNTIME_WORKER_POOL_H_
