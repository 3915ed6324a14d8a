// Makes the records and logs of executions survive the death of the host, soon
// after they were written: in a thread of its own, since the disk takes its
// time. What fails is told as a failure of the storage and tried again.
//
// For the event loop's thread, which never waits for the disk here. The thread
// is started with the first record, and ended by the destructor; what is not
// synced then is left to the kernel.

#ifndef SANDBOX_SUPERVISOR_RECORD_SYNC_H_
#define SANDBOX_SUPERVISOR_RECORD_SYNC_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/mutex.h"
#include "sandbox/supervisor/durable_execution.h"
#include "sandbox/supervisor/storage_status.h"

namespace sandbox {

class RecordSync {
 public:
  RecordSync(EventLoop* loop, StorageStatus* storage);
  ~RecordSync();
  RecordSync(const RecordSync&) = delete;
  RecordSync& operator=(const RecordSync&) = delete;

  // The execution in `directory` has its start.pb.
  void SyncStart(const std::string& directory);
  // It has its logs and exit.pb.new, whose content is `end`.
  void SyncEnd(const std::string& directory, std::string end);
  // It is about to be deleted: from now on nothing is opened or made there.
  void Cancel(const std::string& directory);
  // All are. Nothing is synced any more.
  void Stop();

 private:
  struct Job {
    // Empty: only start.pb is to be synced.
    std::string end;
    bool tried = false;
  };
  using Jobs = std::map<std::string, Job>;
  // Directories, and why they failed.
  using Failures = std::map<std::string, absl::Status>;
  using Opened = std::map<std::string, DurableExecution>;

  void Schedule(absl::Duration delay);
  void HandOver();
  void OnDone(const Jobs& jobs, const Failures& failures);
  void UpdateStorage();
  // In the thread.
  void Run();
  Failures Sync(const Jobs& jobs);
  Opened Open(const Jobs& jobs, Failures* failures) ABSL_LOCKS_EXCLUDED(mutex_);
  bool Cancelled(const std::string& directory) ABSL_LOCKS_EXCLUDED(mutex_);

  EventLoop* const loop_;
  StorageStatus* const storage_;
  // Not with the thread at the moment.
  Jobs jobs_;
  // The directory that was handed over last.
  std::string last_;
  Failures failures_;
  bool busy_ = false;
  std::optional<EventLoop::TimerId> timer_;
  std::thread thread_;

  Mutex mutex_;
  Jobs handed_over_ ABSL_GUARDED_BY(mutex_);
  // Of what was handed over.
  std::set<std::string> cancelled_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_RECORD_SYNC_H_
