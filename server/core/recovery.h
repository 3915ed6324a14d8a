// How far a server is with what an earlier one left of a sandbox. Two sources
// are read, in any order: the records on disk, and the snapshot of the
// supervisor that still lives. When both are there they are merged; what the
// supervisor reports meanwhile waits for the merge.
//
//   kUnread -> kReading -> kAwaitingSnapshot -> kMerging -> kDone
//
// Does no I/O. Thread-safe.

#ifndef SERVER_CORE_RECOVERY_H_
#define SERVER_CORE_RECOVERY_H_

#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/mutex.h"

namespace server {

class Recovery {
 public:
  // By id: the last that the supervisor reported of each execution.
  using Reports =
      std::map<std::string, corral::supervisor::v1::ExecutionRecord>;

  // How often records are read that the disk does not give, and how long after
  // one attempt the next one follows.
  static constexpr int kReadAttempts = 5;
  static constexpr absl::Duration kReadRetry = absl::Milliseconds(200);

  enum class Phase {
    // Nobody has begun to read the records.
    kUnread,
    kReading,
    kAwaitingSnapshot,
    kMerging,
    // There is nothing to merge any more, or there never was.
    kDone,
  };

  // kUnread for a sandbox of an earlier server, kDone for a new one.
  explicit Recovery(Phase initial) : phase_(initial) {}

  // False: somebody reads the records, or has read them.
  bool BeginReading();

  // Whether to go on without what cannot be read. Not before kReadAttempts
  // calls, and never for want of descriptors or memory: that is this server's,
  // and says nothing of the disk.
  bool MayGiveUp(const absl::Status& unreadable);

  // Calls `function` when the records are read or given up: now, or from
  // FinishReading().
  void AfterReading(absl::AnyInvocable<void()> function);

  // The records are read, or given up. True: the caller merges now.
  bool FinishReading();

  // The supervisor's first message. True: the caller has the merge done.
  bool KeepSnapshot(const corral::supervisor::v1::Snapshot& snapshot);

  // False: it does not have to wait for a merge.
  bool KeepReport(const corral::supervisor::v1::ExecutionRecord& record);

  // For the merge: what the supervisor reported since the last call, at first
  // the whole snapshot. Empty: nothing more, and the recovery is done.
  Reports TakeReports();

  // The supervisor is gone: nothing is merged any more. Drops what waits for
  // the records.
  void Abandon();

  // The records are read, or given up: each execution that an earlier server
  // has begun is known.
  bool has_records() const;

 private:
  mutable sandbox::Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_);
  bool has_snapshot_ ABSL_GUARDED_BY(mutex_) = false;
  Reports reports_ ABSL_GUARDED_BY(mutex_);
  int failed_reads_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<absl::AnyInvocable<void()>> after_reading_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_CORE_RECOVERY_H_
