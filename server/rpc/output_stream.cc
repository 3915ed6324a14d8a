#include "server/rpc/output_stream.h"

#include <chrono>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "grpcpp/support/status.h"
#include "sandbox/base/mutex.h"
#include "server/api/grpc_status.h"
#include "server/core/disk_reads.h"
#include "server/rpc/log_read.h"
#include "server/rpc/output_cursor.h"
#include "server/runtime/activity.h"
#include "server/runtime/timer_queue.h"

namespace server {

using sandbox::MutexLock;

std::shared_ptr<OutputStream> OutputStream::Create(TimerQueue* timers,
                                                   DiskReads* reads,
                                                   Activity::Call call) {
  // make_shared cannot reach the constructor.
  std::shared_ptr<OutputStream> stream(
      new OutputStream(timers, reads, std::move(call)));
  stream->self_ = stream;
  stream->admitted_ = stream->call_->AddLasting(stream.get(), stream);
  stream->Fail(stream->admitted_);
  return stream;
}

void OutputStream::Follow(absl::StatusOr<OutputCursor> cursor, Over over) {
  std::shared_ptr<Execution> execution;
  Over too_late;
  {
    MutexLock lock(&mutex_);
    (done_ ? too_late : over_) = std::move(over);
    if (!cursor.ok()) {
      failure_.Update(cursor.status());
    } else if (!done_) {
      execution = cursor->execution();
      cursor_ = *std::move(cursor);
      last_write_ = timers_->Now();
      ArmHeartbeat();
    }
  }
  if (too_late != nullptr) {
    too_late();
  }
  if (execution != nullptr) {
    // Watches before it reads the state, so that no change is missed.
    execution->Watch(weak_from_this());
  }
  OnChange();
}

void OutputStream::Fail(const absl::Status& status) {
  MutexLock lock(&mutex_);
  failure_.Update(status);
  MaybeAdvance();
}

void OutputStream::OnChange() {
  // OnWriteDone() clears writing_ and then looks at the execution, under the
  // lock under which the change was made before this call. So if writing_ is
  // set here, OnWriteDone() will find the change. This thread serves all
  // sandboxes: it need not wait for mutex_ while gRPC gets output.
  if (writing_) {
    return;
  }
  MutexLock lock(&mutex_);
  MaybeAdvance();
}

void OutputStream::OnWriteDone(bool ok) {
  MutexLock lock(&mutex_);
  writing_ = false;
  cancelled_ = cancelled_ || !ok;
  last_write_ = timers_->Now();
  MaybeAdvance();
}

void OutputStream::OnCancel() {
  MutexLock lock(&mutex_);
  cancelled_ = true;
  MaybeAdvance();
}

void OutputStream::OnDone() {
  std::shared_ptr<Execution> execution;
  Over over;
  {
    MutexLock lock(&mutex_);
    done_ = true;
    timers_->Cancel(heartbeat_timer_);
    if (cursor_.has_value()) {
      execution = cursor_->execution();
    }
    over = std::move(over_);
  }
  if (execution != nullptr) {
    execution->Unwatch(this);
  }
  if (over != nullptr) {
    over();
  }
  call_->RemoveLasting(this);
  call_.reset();
  self_.reset();  // the last use of this object
}

void OutputStream::MaybeAdvance() {
  if (writing_ || finished_) {
    return;
  }
  if (cancelled_) {
    finished_ = true;
    Finish(grpc::Status::CANCELLED);
  } else if (!failure_.ok()) {
    finished_ = true;
    Finish(ToGrpcStatus(failure_));
  } else if (cursor_.has_value()) {
    WriteNext();
  }
}

void OutputStream::WriteNext() {
  const absl::StatusOr<OutputCursor::Next> next = cursor_->Advance(&event_);
  if (!next.ok()) {
    finished_ = true;
    Finish(ToGrpcStatus(next.status()));
    return;
  }
  switch (*next) {
    case OutputCursor::Next::kEvent:
      heartbeat_due_ = false;
      writing_ = true;
      StartWrite(&event_);
      return;
    case OutputCursor::Next::kLast:
      finished_ = true;
      StartWriteAndFinish(&event_, grpc::WriteOptions(), grpc::Status::OK);
      return;
    case OutputCursor::Next::kEnd:
      finished_ = true;
      Finish(grpc::Status::OK);
      return;
    case OutputCursor::Next::kRead:
      StartRead();
      MaybeBeat();
      return;
    case OutputCursor::Next::kIdle:
      MaybeBeat();
      return;
  }
}

void OutputStream::StartRead() {
  reads_->Run(
      cursor_->execution()->sandbox().id(),
      [self = shared_from_this(), read = cursor_->TakeRead()]() mutable {
        read.Run();
        self->OnRead(std::move(read));
      });
}

void OutputStream::OnRead(LogRead done) {
  MutexLock lock(&mutex_);
  cursor_->Put(std::move(done));
  MaybeAdvance();
}

void OutputStream::MaybeBeat() {
  if (heartbeat_due_ && cursor_->opened()) {
    heartbeat_due_ = false;
    *event_.mutable_heartbeat() = cursor_->Heartbeat();
    writing_ = true;
    StartWrite(&event_);
  }
}

void OutputStream::ArmHeartbeat() {
  const absl::Duration quiet = absl::FromChrono(timers_->Now() - last_write_);
  heartbeat_timer_ =
      timers_->RunAfter(kHeartbeatInterval - quiet, [weak = weak_from_this()] {
        if (const auto self = weak.lock(); self != nullptr) {
          self->OnHeartbeatTimer();
        }
      });
}

void OutputStream::OnHeartbeatTimer() {
  MutexLock lock(&mutex_);
  if (finished_) {
    return;
  }
  if (timers_->Now() - last_write_ >=
      absl::ToChronoNanoseconds(kHeartbeatInterval)) {
    heartbeat_due_ = true;
    last_write_ = timers_->Now();
    MaybeAdvance();
  }
  ArmHeartbeat();
}

}  // namespace server
