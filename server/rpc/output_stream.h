// The gRPC side of streamed output: one call of StreamOutput or RunExecution.
//
// Events (a write or a read of the disk is done, the execution changed, the
// call was cancelled, it has been quiet for 15 s) come on any thread; each sets
// a field and calls MaybeAdvance, which starts at most one write and one read.
// Output in the page cache is read at once, all other output by DiskReads, so
// that no event waits for a disk. A client that does not read leaves the one
// write unfinished, and nothing else happens.

#ifndef SERVER_RPC_OUTPUT_STREAM_H_
#define SERVER_RPC_OUTPUT_STREAM_H_

#include <atomic>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/execution_service.pb.h"
#include "grpcpp/support/server_callback.h"
#include "sandbox/base/mutex.h"
#include "server/core/disk_reads.h"
#include "server/core/execution.h"
#include "server/rpc/log_read.h"
#include "server/rpc/output_cursor.h"
#include "server/runtime/activity.h"
#include "server/runtime/timer_queue.h"

namespace server {

class OutputStream final
    : public grpc::ServerWriteReactor<corral::v1::OutputEvent>,
      public ExecutionWatcher,
      public LastingCall,
      public std::enable_shared_from_this<OutputStream> {
 public:
  static constexpr absl::Duration kHeartbeatInterval = absl::Seconds(15);

  // Called once, when the call is over.
  using Over = absl::AnyInvocable<void()>;

  // Returns a stream that lives until the call is over. `timers` and `reads`
  // must outlive it. If the server takes no more streams, the call fails: see
  // admitted().
  static std::shared_ptr<OutputStream> Create(TimerQueue* timers,
                                              DiskReads* reads,
                                              Activity::Call call);

  // SERVER_DRAINING or TOO_MANY_CALLS if the server refused the stream. Then
  // nothing may be started for it.
  const absl::Status& admitted() const { return admitted_; }

  // Streams from `cursor`, or fails the call. Call it at most once. `over` may
  // be null.
  void Follow(absl::StatusOr<OutputCursor> cursor, Over over);

  // Ends the call with an error, unless it is over.
  void Fail(const absl::Status& status) override;

  void OnChange() override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  OutputStream(TimerQueue* timers, DiskReads* reads, Activity::Call call)
      : timers_(timers), reads_(reads), call_(std::move(call)) {}

  void OnRead(LogRead done);
  void MaybeAdvance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MaybeBeat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ArmHeartbeat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnHeartbeatTimer();

  TimerQueue* const timers_;
  DiskReads* const reads_;
  Activity::Call call_;
  absl::Status admitted_;
  // Keeps this object alive until OnDone.
  std::shared_ptr<OutputStream> self_;

  // Held while the execution's lock and that of DiskReads are taken, never the
  // other way round.
  sandbox::Mutex mutex_;
  std::optional<OutputCursor> cursor_ ABSL_GUARDED_BY(mutex_);
  Over over_ ABSL_GUARDED_BY(mutex_);
  // gRPC reads it while writing_.
  corral::v1::OutputEvent event_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  TimerQueue::TimePoint last_write_ ABSL_GUARDED_BY(mutex_);
  TimerQueue::Id heartbeat_timer_ ABSL_GUARDED_BY(mutex_) = 0;
  bool heartbeat_due_ ABSL_GUARDED_BY(mutex_) = false;
  // Set while mutex_ is held; OnChange() reads it without.
  std::atomic<bool> writing_ = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // True once Finish() was called.
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // True once OnDone was called.
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace server

#endif  // SERVER_RPC_OUTPUT_STREAM_H_
