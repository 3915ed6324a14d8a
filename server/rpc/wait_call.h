// One call of WaitExecution: answers when the execution has ended, or when the
// call's timeout is over.
//
// Thread-safe; never waits for a disk. Events (the execution changed, the
// timeout, a cancellation, the end of the server) come on any thread. Each sets
// a field and calls MaybeAdvance(), which finishes the call once.

#ifndef SERVER_RPC_WAIT_CALL_H_
#define SERVER_RPC_WAIT_CALL_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "grpcpp/support/server_callback.h"
#include "sandbox/base/mutex.h"
#include "server/core/execution.h"
#include "server/rpc/found_execution.h"
#include "server/runtime/activity.h"
#include "server/runtime/timer_queue.h"

namespace server {

class WaitCall final : public grpc::ServerUnaryReactor,
                       public ExecutionWatcher,
                       public LastingCall,
                       public std::enable_shared_from_this<WaitCall> {
 public:
  // Begins to wait. The reactor lives until the call is over; `timers` must
  // outlive it. Without `timeout` it waits until the end of the execution or of
  // the call. The call fails with SERVER_DRAINING or TOO_MANY_CALLS if the
  // server takes no more waiting calls.
  static grpc::ServerUnaryReactor* Begin(FoundExecution target,
                                         std::optional<absl::Duration> timeout,
                                         corral::v1::Execution* response,
                                         TimerQueue* timers,
                                         Activity::Call call);

  void Fail(const absl::Status& status) override;

  void OnChange() override;
  void OnCancel() override;
  void OnDone() override;

 private:
  WaitCall(FoundExecution target, corral::v1::Execution* response,
           TimerQueue* timers, Activity::Call call)
      : target_(std::move(target)),
        response_(response),
        timers_(timers),
        call_(std::move(call)) {}

  void OnTimeout();
  void End(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MaybeAdvance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  FoundExecution target_;
  corral::v1::Execution* const response_;
  TimerQueue* const timers_;
  Activity::Call call_;
  // Keeps this object alive until OnDone().
  std::shared_ptr<WaitCall> self_;

  // May be held while the execution's lock is taken, never the other way round.
  sandbox::Mutex mutex_;
  TimerQueue::Id timer_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  bool timed_out_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace server

#endif  // SERVER_RPC_WAIT_CALL_H_
