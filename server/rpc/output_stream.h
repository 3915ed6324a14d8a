// The gRPC side of streamed output: one call of StreamOutput or RunExecution.
//
// Events (a write is done, the execution changed, the call was cancelled, it
// has been quiet for 15 s) come on any thread; each sets a field and calls
// MaybeAdvance, which starts at most one write. A client that does not read
// leaves the one write unfinished, and nothing else happens.

#ifndef SERVER_RPC_OUTPUT_STREAM_H_
#define SERVER_RPC_OUTPUT_STREAM_H_

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
#include "server/core/execution.h"
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

  // Lives until the call is over. `timers` must outlive it.
  static std::shared_ptr<OutputStream> Create(TimerQueue* timers,
                                              Activity::Call call);

  // Streams from `follower`, or fails the call. At most once. `over` may be
  // null.
  void Follow(absl::StatusOr<OutputFollower> follower, Over over);

  // Ends the call with an error, unless it is over.
  void Fail(const absl::Status& status) override;

  void OnChange() override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  OutputStream(TimerQueue* timers, Activity::Call call)
      : timers_(timers), call_(std::move(call)) {}

  void MaybeAdvance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ArmHeartbeat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnHeartbeatTimer();

  TimerQueue* const timers_;
  Activity::Call call_;
  // Until OnDone.
  std::shared_ptr<OutputStream> self_;

  // Held while the execution's lock is taken, never the other way round.
  sandbox::Mutex mutex_;
  std::optional<OutputFollower> follower_ ABSL_GUARDED_BY(mutex_);
  Over over_ ABSL_GUARDED_BY(mutex_);
  // Belongs to gRPC while writing_.
  corral::v1::OutputEvent event_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  TimerQueue::TimePoint last_write_ ABSL_GUARDED_BY(mutex_);
  TimerQueue::Id heartbeat_timer_ ABSL_GUARDED_BY(mutex_) = 0;
  bool heartbeat_due_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // Finish was called.
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // OnDone was called.
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace server

#endif  // SERVER_RPC_OUTPUT_STREAM_H_
