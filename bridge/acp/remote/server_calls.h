#ifndef BRIDGE_ACP_REMOTE_SERVER_CALLS_H_
#define BRIDGE_ACP_REMOTE_SERVER_CALLS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/command_stream.h"
#include "bridge/acp/remote/connector.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/client/connection.h"
#include "bridge/client/retry_schedule.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "sandbox/base/callback_threads.h"

namespace bridge {

// Makes the bridge's calls to corrald without blocking; each answer runs on the
// loop. The first call connects, which may start a local server. A call that a
// restart of the server interrupted, or that the server refuses for now, is
// repeated by the rules of client::RetrySchedule, for 15 s in all. Repeating is
// safe: requests that create something carry a request id, a second signal to a
// command that shall end does no harm, and no rule is added twice.
//
// A call that got no answer fails with Unavailable; the message names the
// server and says what to do.
//
// Used on the loop's thread only. Must be idle() when it is destroyed.
class ServerCalls {
 public:
  template <typename Response>
  using Done = absl::AnyInvocable<void(absl::StatusOr<Response>)>;

  // A call is repeated for 15 s, or for options.timing.patience if that is
  // shorter.
  ServerCalls(PollLoop* loop, const client::ConnectOptions& options);
  ~ServerCalls();

  ServerCalls(const ServerCalls&) = delete;
  ServerCalls& operator=(const ServerCalls&) = delete;

  void CreateSandbox(const corral::v1::CreateSandboxRequest& request,
                     Done<corral::v1::Sandbox> done);
  void GetSandbox(const std::string& name, Done<corral::v1::Sandbox> done);
  void DeleteSandbox(const std::string& name,
                     Done<google::protobuf::Empty> done);
  void ListNetworkEvents(const corral::v1::ListNetworkEventsRequest& request,
                         Done<corral::v1::ListNetworkEventsResponse> done);
  void AllowHosts(const corral::v1::AllowHostsRequest& request,
                  Done<corral::v1::Sandbox> done);
  // Runs `done` when the command runs, or has failed to start. The output comes
  // through the stream.
  void RunExecution(const corral::v1::RunExecutionRequest& request,
                    Done<std::shared_ptr<CommandStream>> done);
  void SignalExecution(const corral::v1::SignalExecutionRequest& request,
                       Done<google::protobuf::Empty> done);
  void DeleteExecution(const std::string& name,
                       Done<google::protobuf::Empty> done);

  // Call only after a call has succeeded.
  client::Connection& connection() { return *connector_.connection(); }

  // Runs `action` on the loop after at least `delay`.
  void After(absl::Duration delay, PollLoop::Action action) {
    loop_->After(delay, std::move(action));
  }

  // True if every call has been answered.
  bool idle() const { return outstanding_ == 0; }

 private:
  using OnStatus = std::function<void(grpc::Status)>;
  template <typename Request, typename Response>
  struct Call {
    const char* name;  // for messages
    std::function<void(client::Connection&, grpc::ClientContext*,
                       const Request*, Response*, OnStatus)>
        method;
    Request request;
    absl::Time deadline;
    client::RetrySchedule schedule;
    absl::Time begin;  // of the last attempt
    Done<Response> done;
    Response response;
    std::optional<grpc::ClientContext> context;
  };
  template <typename Request, typename Response>
  using CallPointer = std::unique_ptr<Call<Request, Response>>;

  template <typename Request, typename Response, typename Method>
  void Begin(const char* name, Method method, const Request& request,
             Done<Response> done);
  // Connects, and then makes the call.
  template <typename Request, typename Response>
  void ConnectAndMake(CallPointer<Request, Response> call);
  template <typename Request, typename Response>
  void Make(CallPointer<Request, Response> call);
  template <typename Request, typename Response>
  void OnStatusOf(CallPointer<Request, Response> call,
                  const grpc::Status& status);
  template <typename Request, typename Response>
  void Finish(CallPointer<Request, Response> call, absl::Status failure);

  // The failure of a call that got no answer; `why` is what was seen last.
  absl::Status Unanswered(absl::string_view call, absl::string_view why) const;

  PollLoop* const loop_;
  const absl::Duration patience_;
  int outstanding_ = 0;
  const sandbox::CallbackThreads callback_threads_{
      sandbox::CallbackThreads::Service::kShared};
  Connector connector_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_REMOTE_SERVER_CALLS_H_
