#include "server/rpc/wait_call.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "grpcpp/support/status.h"
#include "sandbox/base/mutex.h"
#include "server/api/grpc_status.h"
#include "server/core/execution.h"
#include "server/rpc/found_execution.h"
#include "server/runtime/activity.h"
#include "server/runtime/timer_queue.h"

namespace server {

using sandbox::MutexLock;

grpc::ServerUnaryReactor* WaitCall::Begin(FoundExecution target,
                                          std::optional<absl::Duration> timeout,
                                          corral::v1::Execution* response,
                                          TimerQueue* timers,
                                          Activity::Call call) {
  // make_shared cannot reach the constructor.
  std::shared_ptr<WaitCall> wait(
      new WaitCall(std::move(target), response, timers, std::move(call)));
  wait->self_ = wait;
  const absl::Status lasting = wait->call_->AddLasting(wait.get(), wait);
  if (timeout.has_value()) {
    MutexLock lock(&wait->mutex_);
    wait->timer_ =
        timers->RunAfter(*timeout, [weak = std::weak_ptr<WaitCall>(wait)] {
          if (const auto self = weak.lock(); self != nullptr) {
            self->OnTimeout();
          }
        });
  }
  // Watches before Fail() reads the state, so that no change is missed.
  wait->target_.execution->Watch(wait);
  wait->Fail(lasting);
  return wait.get();
}

void WaitCall::Fail(const absl::Status& status) {
  MutexLock lock(&mutex_);
  failure_.Update(status);
  MaybeAdvance();
}

void WaitCall::OnChange() {
  MutexLock lock(&mutex_);
  MaybeAdvance();
}

void WaitCall::OnTimeout() {
  MutexLock lock(&mutex_);
  timed_out_ = true;
  MaybeAdvance();
}

void WaitCall::OnCancel() {
  MutexLock lock(&mutex_);
  cancelled_ = true;
  MaybeAdvance();
}

void WaitCall::OnDone() {
  {
    MutexLock lock(&mutex_);
    timers_->Cancel(timer_);
  }
  target_.execution->Unwatch(this);
  call_->RemoveLasting(this);
  call_.reset();
  self_.reset();  // the last use of this object
}

void WaitCall::MaybeAdvance() {
  if (finished_) {
    return;
  }
  if (cancelled_) {
    End(grpc::Status::CANCELLED);
  } else if (timed_out_ || target_.execution->ended()) {
    *response_ = target_.execution->Describe();
    End(grpc::Status::OK);
  } else if (!failure_.ok()) {
    End(ToGrpcStatus(failure_));
  }
}

void WaitCall::End(const grpc::Status& status) {
  finished_ = true;
  // A caller that has its answer keeps the sandbox no longer.
  target_.hold.reset();
  Finish(status);
}

}  // namespace server
