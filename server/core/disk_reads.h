// Threads for reads that may wait for a disk: opening a log, reading one that
// is not in the page cache, reading the record of one execution, looking at a
// workspace.
//
// Jobs with one key, a sandbox or a workspace, run one after another. So a disk
// that hangs takes one thread and delays only the jobs with its own key.
//
// Thread-safe.

#ifndef SERVER_CORE_DISK_READS_H_
#define SERVER_CORE_DISK_READS_H_

#include <deque>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "sandbox/base/mutex.h"

namespace server {

class DiskReads {
 public:
  using Job = absl::AnyInvocable<void()>;

  // If as many keys hang as there are threads, the jobs of all other keys wait,
  // too.
  explicit DiskReads(size_t threads);
  ~DiskReads();
  DiskReads(const DiskReads&) = delete;
  DiskReads& operator=(const DiskReads&) = delete;

  // Runs `job` on a thread, after the earlier jobs with the same key.
  void Run(const std::string& key, Job job);

  // Returns when all jobs given so far have run. Drops later ones.
  void Stop();

 private:
  void Work();

  sandbox::Mutex mutex_;
  // A key is ready, or the threads are to stop.
  sandbox::CondVar came_;
  // The jobs by key. A key is here while it has a job that waits or runs.
  std::map<std::string, std::deque<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  // Keys with a job to run and none that runs.
  std::deque<std::string> ready_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Declared last, since they use the other members.
  std::vector<std::thread> threads_;
};

}  // namespace server

#endif  // SERVER_CORE_DISK_READS_H_
