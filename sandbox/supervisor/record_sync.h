// Makes the records and logs of executions survive a crash of the host. Syncs
// them in the background, since a disk may be slow: an end about 100 ms after
// it was written, a start after 500 ms to 1.1 s, unless its command has ended
// by then. A failure is reported to the storage status and retried.
//
// Used on the event loop's thread only, and never makes it wait for the disk.
// Files that are not synced when this is destroyed are left to the kernel.

#ifndef SANDBOX_SUPERVISOR_RECORD_SYNC_H_
#define SANDBOX_SUPERVISOR_RECORD_SYNC_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/supervisor/background.h"
#include "sandbox/supervisor/durable_execution.h"
#include "sandbox/supervisor/storage_status.h"

namespace sandbox {

class RecordSync {
 public:
  // `timers` is the loop, except in tests. All but `background` outlive this.
  RecordSync(EventLoop* loop, Timers* timers, StorageStatus* storage,
             std::unique_ptr<Background> background);
  ~RecordSync();
  RecordSync(const RecordSync&) = delete;
  RecordSync& operator=(const RecordSync&) = delete;

  // `synced` is called with the path of each execution whose end and whose
  // output are on the disk; an end with output says so. Call it before the
  // first SyncEnd().
  void OnSynced(std::function<void(const std::string& path)> synced) {
    synced_ = std::move(synced);
  }

  // Syncs the record of the start of the execution whose file is `path`, unless
  // SyncEnd() or Cancel() comes first. All executions are in one directory.
  void SyncStart(const std::string& path);
  // Syncs its output and the record of its end, which is `end`. `silent` is its
  // file if its streams are known to hold no byte.
  void SyncEnd(const std::string& path, std::string end,
               std::shared_ptr<const ExecutionFile> silent = nullptr);
  // The execution is about to be deleted: from now on its files are not opened.
  void Cancel(const std::string& path);
  // Syncs nothing any more. Called when all executions are about to be deleted,
  // or the sandbox has failed; the kernel then writes what is not synced yet.
  void Stop();

 private:
  struct Job {
    // The sealed record of the end. Empty: only the start is synced.
    std::string end;
    bool has_output = true;
    // The file of one without output, unless many wait. Null: it is opened.
    std::shared_ptr<const ExecutionFile> file;
    // True to write everything again, since a sync has failed: after that, the
    // kernel treats data that it could not write as written.
    bool rewrite = false;
  };
  using Jobs = std::map<std::string, Job>;
  // Why a sync failed, by path.
  using Failures = std::map<std::string, absl::Status>;
  using Opened = std::map<std::string, DurableExecution>;

  void Schedule(absl::Duration delay);
  // Keeps `term_` pending while starts wait.
  void UpdateTerm();
  // Hands on the starts that have waited for a whole term.
  void EndTerm();
  void ForgetStart(const std::string& path);
  void HandOver();
  void OnDone(const Jobs& jobs, const Failures& failures);
  void UpdateStorage();
  // Run in the background. SyncAllNames() syncs the names of all executions,
  // which are in the directory `executions`.
  Failures Sync(const Jobs& jobs);
  absl::Status SyncAllNames(const std::string& executions);
  static absl::StatusOr<DurableExecution> Open(const std::string& path,
                                               const Job& job);
  Opened OpenAll(const Jobs& jobs, Failures* failures)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool Cancelled(const std::string& path) ABSL_LOCKS_EXCLUDED(mutex_);

  // Used in the background only: the directory of the executions, once it was
  // synced; and true once the description of the sandbox is on the disk,
  // without which its executions could not be found.
  UniqueFd executions_;
  bool described_ = false;

  EventLoop* const loop_;
  Timers* const timers_;
  StorageStatus* const storage_;
  std::function<void(const std::string& path)> synced_ =
      [](const std::string&) {};
  // Paths of executions whose start waits: those that came in this term, and
  // those that came in the one before.
  std::set<std::string> starts_;
  std::set<std::string> earlier_starts_;
  // The end of this term.
  Timer term_;
  // The jobs to hand over.
  Jobs jobs_;
  // The path that was handed over last.
  std::string last_;
  Failures failures_;
  // True while jobs that were handed over are not done.
  bool busy_ = false;
  Timer timer_;

  Mutex mutex_;
  // Paths that were handed over and then cancelled.
  std::set<std::string> cancelled_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;

  // Uses everything above.
  std::unique_ptr<Background> background_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_RECORD_SYNC_H_
