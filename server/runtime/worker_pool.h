// A few threads for work that may block: the disk, and starting processes.
//
// A job that runs for longer than the pool's patience hangs: its disk does not
// answer. It no longer counts as one of the jobs that may run at a time, so
// that it delays others by that time only.
//
// Thread-safe.

#ifndef SERVER_RUNTIME_WORKER_POOL_H_
#define SERVER_RUNTIME_WORKER_POOL_H_

#include <chrono>
#include <deque>
#include <set>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "sandbox/base/mutex.h"

namespace server {

class WorkerPool {
 public:
  using Clock = std::chrono::steady_clock;

  // Jobs that may hang at a time; with more, others wait.
  static constexpr size_t kMostHanging = 64;

  // Runs `jobs` at a time, and never treats one as hanging.
  explicit WorkerPool(size_t jobs)
      : WorkerPool(jobs, std::chrono::hours(24 * 365)) {}
  WorkerPool(size_t jobs, Clock::duration patience);
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
  // Blocks until this thread may take a job. Returns false if no job is left
  // and none will come.
  bool AwaitJob() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_jobs_;
  const Clock::duration patience_;
  sandbox::Mutex mutex_;
  // A job came. Threads without one wait for it; whatever else is waited for,
  // mutex_ signals.
  sandbox::CondVar came_;
  std::deque<absl::AnyInvocable<void()>> jobs_ ABSL_GUARDED_BY(mutex_);
  // The times at which the jobs that run began.
  std::multiset<Clock::time_point> running_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // One more than there are jobs that run, so that one can wait for a job to
  // hang. Declared last, since they use the other members.
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_RUNTIME_WORKER_POOL_H_
