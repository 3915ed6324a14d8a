// One call of WriteInput: waits for its turn, and then until the command has
// read the data.
//
// If the client cancels the call before its turn, nothing is written. A write
// that has begun is completed.

#ifndef SERVER_RPC_INPUT_WRITE_H_
#define SERVER_RPC_INPUT_WRITE_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "grpcpp/support/server_callback.h"
#include "server/core/execution.h"
#include "server/core/input_queue.h"
#include "server/rpc/found_execution.h"
#include "server/runtime/activity.h"
#include "server/runtime/timer_queue.h"

namespace server {

class InputWrite final : public grpc::ServerUnaryReactor,
                         private InputQueue::Write {
 public:
  // The reactor lives until the call is over. `timers` must outlive it. `held`
  // ends before the answer.
  static grpc::ServerUnaryReactor* Start(
      FoundExecution target, const corral::v1::WriteInputRequest* request,
      corral::v1::InputState* response, TimerQueue* timers, Activity::Call call,
      Activity::Held held);

 private:
  using Answer = absl::AnyInvocable<void(absl::Status)>;

  InputWrite(FoundExecution target,
             const corral::v1::WriteInputRequest* request,
             corral::v1::InputState* response, TimerQueue* timers,
             Activity::Call call, Activity::Held held);

  void OnCancel() override;
  void OnDone() override { delete this; }
  void Begin() override;

  absl::Status Check() const;
  void Enqueue();
  void Send(Answer reply);
  void OnAnswer(const absl::Status& status,
                const corral::supervisor::v1::InputState& taken, Answer reply);
  // Ends the call and its turn. gRPC may destroy this object before it returns.
  void End(const absl::Status& status, Answer reply);
  absl::Status ToError(const absl::Status& status,
                       const corral::supervisor::v1::InputState& taken) const;

  const FoundExecution target_;
  const corral::v1::WriteInputRequest* const request_;
  corral::v1::InputState* const response_;
  TimerQueue* const timers_;
  std::atomic<bool> cancelled_ = false;
  // Ends the call. Moved away when the call's turn comes.
  Answer reply_;
};

}  // namespace server

#endif  // SERVER_RPC_INPUT_WRITE_H_
