// The progress of the recovery of one sandbox that an earlier server left. Two
// sources are read, in any order: the records on disk, and the snapshot of the
// supervisor if it still lives. When both are read they are merged. Reports of
// the supervisor that come meanwhile wait for the merge.
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
  // The last report of the supervisor on each execution, by id.
  using Reports =
      std::map<std::string, corral::supervisor::v1::ExecutionRecord>;

  // The number of attempts to read records that cannot be read, and the time
  // between two attempts.
  static constexpr int kReadAttempts = 5;
  static constexpr absl::Duration kReadRetry = absl::Milliseconds(200);

  enum class Phase {
    // Nobody has begun to read the records.
    kUnread,
    kReading,
    kAwaitingSnapshot,
    kMerging,
    // Nothing is left to merge, or there never was anything.
    kDone,
  };

  // kUnread for a sandbox of an earlier server, kDone for a new one.
  explicit Recovery(Phase initial) : phase_(initial) {}

  // Returns false if somebody reads the records, or has read them.
  bool BeginReading();

  // Returns true if the recovery goes on without the records that could not be
  // read because of an error. False before kReadAttempts calls, and always for
  // a shortage of descriptors or memory, which says nothing about the disk.
  bool MayGiveUp(const absl::Status& unreadable);

  // Calls `function` when the records are read or given up: now, or later from
  // FinishReading().
  void AfterReading(absl::AnyInvocable<void()> function);

  // Called when the records are read, or given up, so that they are not
  // `complete`. Returns true if the caller has to merge now.
  bool FinishReading(bool complete);

  // Keeps the supervisor's first message. Returns true if the caller has to
  // start the merge.
  bool KeepSnapshot(const corral::supervisor::v1::Snapshot& snapshot);

  // Keeps a report that must wait for the merge. Returns false if it need not
  // wait.
  bool KeepReport(const corral::supervisor::v1::ExecutionRecord& record);

  // Returns the reports that came since the last call; the first time, the
  // whole snapshot. An empty result means that nothing is left and the recovery
  // is done.
  Reports TakeReports();

  // Ends the recovery without a merge, because the supervisor is gone. Drops
  // functions that wait for the records.
  void Abandon();

  // True once each execution that an earlier server began is known: the records
  // are read, or what could not be read was merged with the snapshot, which
  // comes once the supervisor could read it, or there is no supervisor.
  bool has_records() const;

 private:
  mutable sandbox::Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_);
  // Some records were given up.
  bool incomplete_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_snapshot_ ABSL_GUARDED_BY(mutex_) = false;
  Reports reports_ ABSL_GUARDED_BY(mutex_);
  int failed_reads_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<absl::AnyInvocable<void()>> after_reading_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace server

#endif  // SERVER_CORE_RECOVERY_H_
