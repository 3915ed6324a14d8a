#ifndef BRIDGE_ACP_REMOTE_SERVER_CALLS_H_
#define BRIDGE_ACP_REMOTE_SERVER_CALLS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/client/connection.h"
#include "bridge/client/retry_schedule.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"

namespace bridge {

// Makes the bridge's calls to corrald without blocking; each answer runs on the
// loop. A call waits while the server restarts. It is repeated by the rules of
// client::RetrySchedule if the restart interrupted it or the server refuses it
// for now, for 15 s in all. Repeating is safe: requests that create something
// carry a request id, and a second signal to a command that shall end does no
// harm.
//
// For the loop's thread. Must be idle() when it is destroyed.
class ServerCalls {
 public:
  template <typename Response>
  using Done = absl::AnyInvocable<void(absl::StatusOr<Response>)>;

  // How long a call is repeated. The bridge's exit waits for its calls, too.
  static constexpr absl::Duration kPatience = absl::Seconds(15);

  ServerCalls(PollLoop* loop, client::ConnectOptions options,
              absl::Duration patience = kPatience);
  ~ServerCalls();

  ServerCalls(const ServerCalls&) = delete;
  ServerCalls& operator=(const ServerCalls&) = delete;

  // Connects first, or again, and may start a local server for that.
  void CreateSandbox(const corral::v1::CreateSandboxRequest& request,
                     Done<corral::v1::Sandbox> done);

  // These may be called only after CreateSandbox has succeeded.
  void StartExecution(const corral::v1::StartExecutionRequest& request,
                      Done<corral::v1::Execution> done);
  void SignalExecution(const corral::v1::SignalExecutionRequest& request,
                       Done<google::protobuf::Empty> done);
  void DeleteExecution(const std::string& name,
                       Done<google::protobuf::Empty> done);
  void GetSandbox(const std::string& name, Done<corral::v1::Sandbox> done);
  void DeleteSandbox(const std::string& name,
                     Done<google::protobuf::Empty> done);
  client::Connection& connection() { return *connection_; }

  // Runs `action` on the loop after at least `delay`.
  void After(absl::Duration delay, PollLoop::Action action) {
    loop_->After(delay, std::move(action));
  }

  // Whether every call has been answered.
  bool idle() const { return outstanding_ == 0; }

 private:
  // A method of a stub's async() interface.
  template <typename Async, typename Request, typename Response>
  using Method = void (Async::*)(grpc::ClientContext*, const Request*,
                                 Response*, std::function<void(grpc::Status)>);
  template <typename Async, typename Request, typename Response>
  struct Call {
    Async* async;
    Method<Async, Request, Response> method;
    Request request;
    absl::Time deadline;
    client::RetrySchedule schedule;
    absl::Time begin;  // of the last attempt
    Done<Response> done;
    Response response;
    std::optional<grpc::ClientContext> context;
  };

  template <typename Async, typename Request, typename Response>
  void Begin(Async* async, Method<Async, Request, Response> method,
             const Request& request, Done<Response> done);
  template <typename Async, typename Request, typename Response>
  void Make(std::unique_ptr<Call<Async, Request, Response>> call);
  template <typename Async, typename Request, typename Response>
  void Finish(std::unique_ptr<Call<Async, Request, Response>> call,
              const grpc::Status& status);

  // Runs `done` with OK once there is a connection, else with the reason why
  // there is none.
  void Connect(absl::AnyInvocable<void(absl::Status)> done);

  PollLoop* const loop_;
  const client::ConnectOptions options_;
  const absl::Duration patience_;
  // Set once and never replaced, since streams refer to it.
  std::unique_ptr<client::Connection> connection_;
  int outstanding_ = 0;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_REMOTE_SERVER_CALLS_H_
