#include "bridge/acp/remote/server_calls.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bridge/client/error_details.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

using corral::v1::ExecutionService;
using corral::v1::RunExecutionRequest;
using corral::v1::SandboxService;
using google::protobuf::Empty;

constexpr absl::Duration kPatience = absl::Seconds(15);
constexpr absl::Duration kRetryInterval = absl::Milliseconds(200);

constexpr char kAdvice[] =
    "; check that corrald runs there, or give corral-acp the right --server";

// Returns a method of the service whose stub `stub` returns, as a function.
template <typename Async, typename Request, typename Response>
auto MethodOf(Async* (*stub)(client::Connection&),
              void (Async::*method)(grpc::ClientContext*, const Request*,
                                    Response*,
                                    std::function<void(grpc::Status)>)) {
  return [stub, method](client::Connection& connection,
                        grpc::ClientContext* context, const Request* request,
                        Response* response,
                        std::function<void(grpc::Status)> done) {
    (stub(connection)->*method)(context, request, response, std::move(done));
  };
}

using AsyncSandboxes = SandboxService::StubInterface::async_interface;
using AsyncExecutions = ExecutionService::StubInterface::async_interface;

AsyncSandboxes* Sandboxes(client::Connection& connection) {
  return connection.sandboxes().async();
}

AsyncExecutions* Executions(client::Connection& connection) {
  return connection.executions().async();
}

}  // namespace

ServerCalls::ServerCalls(PollLoop* loop, const client::ConnectOptions& options)
    : loop_(loop),
      patience_(std::min(kPatience, options.timing.patience)),
      connector_(loop, options) {}

ServerCalls::~ServerCalls() { CHECK(idle()) << "calls are outstanding"; }

template <typename Request, typename Response, typename Method>
void ServerCalls::Begin(const char* name, Method method, const Request& request,
                        Done<Response> done) {
  const client::RetryRules rules = {patience_, kRetryInterval};
  ++outstanding_;
  auto call = CallPointer<Request, Response>(new Call<Request, Response>{
      name, std::move(method), request, absl::Now() + patience_,
      client::RetrySchedule(rules), absl::Time(), std::move(done), Response(),
      std::nullopt});
  if (connector_.connection() == nullptr) {
    ConnectAndMake(std::move(call));
  } else {
    Make(std::move(call));
  }
}

absl::Status ServerCalls::Unanswered(absl::string_view call,
                                     absl::string_view why) const {
  const client::Connection* connection = connector_.connection();
  return absl::UnavailableError(
      connection == nullptr
          ? absl::StrCat(why, kAdvice)
          : absl::StrCat("the server at ", connection->address(),
                         " did not answer ", call, " within ",
                         absl::FormatDuration(patience_), " (", why, ")",
                         kAdvice));
}

template <typename Request, typename Response>
void ServerCalls::ConnectAndMake(CallPointer<Request, Response> call) {
  connector_.Connect(
      [this, call = std::move(call)](const absl::Status& status) mutable {
        const bool repeats =
            connector_.connection() != nullptr && absl::Now() < call->deadline;
        if (status.ok()) {
          Make(std::move(call));
        } else if (repeats) {
          ConnectAndMake(std::move(call));
        } else {
          absl::Status failure = absl::IsUnavailable(status)
                                     ? Unanswered(call->name, status.message())
                                     : status;
          Finish(std::move(call), std::move(failure));
        }
      });
}

template <typename Request, typename Response>
void ServerCalls::Make(CallPointer<Request, Response> call) {
  // Only the loop's thread owns the call. If gRPC's thread destroyed the
  // context it might destroy the channel with it, which must not happen there.
  auto* pending = call.release();
  pending->context.emplace();
  pending->context->set_deadline(absl::ToChronoTime(pending->deadline));
  pending->begin = absl::Now();
  pending->method(
      *connector_.connection(), &*pending->context, &pending->request,
      &pending->response, [this, pending](const grpc::Status& status) {
        loop_->Post([this, pending, status] {
          OnStatusOf(CallPointer<Request, Response>(pending), status);
        });
      });
}

template <typename Request, typename Response>
void ServerCalls::OnStatusOf(CallPointer<Request, Response> call,
                             const grpc::Status& status) {
  const absl::Time now = absl::Now();
  const auto attempt = call->schedule.OnResult(status, call->begin, now);
  if (attempt.has_value() && now + attempt->delay < call->deadline) {
    loop_->After(attempt->delay, [this, call = std::move(call)]() mutable {
      ConnectAndMake(std::move(call));
    });
    return;
  }
  absl::Status failure;
  switch (client::Classify(status)) {
    case client::CallResult::kAnswered:
    case client::CallResult::kRefusedForNow:
      failure = client::ToStatus(status);
      break;
    case client::CallResult::kReset:
    case client::CallResult::kServerGone:
    case client::CallResult::kNoAnswer:
      failure = Unanswered(call->name, status.error_message());
      break;
  }
  Finish(std::move(call), std::move(failure));
}

template <typename Request, typename Response>
void ServerCalls::Finish(CallPointer<Request, Response> call,
                         absl::Status failure) {
  --outstanding_;
  if (failure.ok()) {
    call->done(std::move(call->response));
  } else {
    call->done(std::move(failure));
  }
}

void ServerCalls::CreateSandbox(const corral::v1::CreateSandboxRequest& request,
                                Done<corral::v1::Sandbox> done) {
  Begin("CreateSandbox", MethodOf(Sandboxes, &AsyncSandboxes::CreateSandbox),
        request, std::move(done));
}

void ServerCalls::GetSandbox(const std::string& name,
                             Done<corral::v1::Sandbox> done) {
  corral::v1::GetSandboxRequest request;
  request.set_name(name);
  Begin("GetSandbox", MethodOf(Sandboxes, &AsyncSandboxes::GetSandbox), request,
        std::move(done));
}

void ServerCalls::DeleteSandbox(const std::string& name, Done<Empty> done) {
  corral::v1::DeleteSandboxRequest request;
  request.set_name(name);
  Begin("DeleteSandbox", MethodOf(Sandboxes, &AsyncSandboxes::DeleteSandbox),
        request, std::move(done));
}

void ServerCalls::ListNetworkEvents(
    const corral::v1::ListNetworkEventsRequest& request,
    Done<corral::v1::ListNetworkEventsResponse> done) {
  Begin("ListNetworkEvents",
        MethodOf(Sandboxes, &AsyncSandboxes::ListNetworkEvents), request,
        std::move(done));
}

void ServerCalls::AllowHosts(const corral::v1::AllowHostsRequest& request,
                             Done<corral::v1::Sandbox> done) {
  Begin("AllowHosts", MethodOf(Sandboxes, &AsyncSandboxes::AllowHosts), request,
        std::move(done));
}

void ServerCalls::RunExecution(const corral::v1::RunExecutionRequest& request,
                               Done<std::shared_ptr<CommandStream>> done) {
  // The context only says when the answer must be there: the stream lasts.
  const auto run = [loop = loop_](client::Connection& connection,
                                  grpc::ClientContext* context,
                                  const RunExecutionRequest* request,
                                  std::shared_ptr<CommandStream>* response,
                                  OnStatus done) {
    *response = std::make_shared<CommandStream>(
        loop, connection, *request,
        absl::FromChrono(context->deadline()) - absl::Now(), std::move(done));
  };
  Begin("RunExecution", run, request, std::move(done));
}

void ServerCalls::SignalExecution(
    const corral::v1::SignalExecutionRequest& request, Done<Empty> done) {
  Begin("SignalExecution",
        MethodOf(Executions, &AsyncExecutions::SignalExecution), request,
        std::move(done));
}

void ServerCalls::DeleteExecution(const std::string& name, Done<Empty> done) {
  corral::v1::DeleteExecutionRequest request;
  request.set_name(name);
  Begin("DeleteExecution",
        MethodOf(Executions, &AsyncExecutions::DeleteExecution), request,
        std::move(done));
}

}  // namespace bridge
