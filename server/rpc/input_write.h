// One call of WriteInput: waits for its turn, and then for the command to read.
//
// A client that gives up while its call waits takes its data along. What has
// begun to be written is written.

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
#include "server/core/sandbox.h"
#include "server/runtime/activity.h"
#include "server/runtime/timer_queue.h"

namespace server {

class InputWrite final : public grpc::ServerUnaryReactor,
                         private InputQueue::Write {
 public:
  // What is written, and to which execution of the sandbox.
  struct Target {
    std::shared_ptr<Sandbox> sandbox;
    std::shared_ptr<Execution> execution;
    // The last part of the execution's name.
    std::string id;
  };

  // The reactor lives until the call is over. `timers` must outlive it.
  static grpc::ServerUnaryReactor* Start(
      Target target, const corral::v1::WriteInputRequest* request,
      corral::v1::InputState* response, TimerQueue* timers,
      Activity::Call call);

 private:
  using Answer = absl::AnyInvocable<void(absl::Status)>;

  InputWrite(Target target, const corral::v1::WriteInputRequest* request,
             corral::v1::InputState* response, TimerQueue* timers,
             Activity::Call call);

  void OnCancel() override;
  void OnDone() override { delete this; }
  void Begin() override;

  absl::Status Check() const;
  void Enqueue();
  void Send(Answer reply);
  void OnAnswer(const absl::Status& status,
                const corral::supervisor::v1::InputState& taken, Answer reply);
  // Ends the call, and its turn. The last use of this object.
  void End(const absl::Status& status, Answer reply);
  absl::Status ToError(const absl::Status& status,
                       const corral::supervisor::v1::InputState& taken) const;

  const Target target_;
  const corral::v1::WriteInputRequest* const request_;
  corral::v1::InputState* const response_;
  TimerQueue* const timers_;
  std::atomic<bool> cancelled_ = false;
  // Until its turn.
  Answer reply_;
};

}  // namespace server

#endif  // SERVER_RPC_INPUT_WRITE_H_
