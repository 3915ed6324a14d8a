#include "bridge/acp/remote/server_calls.h"

#include "absl/strings/str_cat.h"
#include "bridge/client/error_details.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

using corral::v1::ExecutionService;
using corral::v1::SandboxService;
using google::protobuf::Empty;

constexpr absl::Duration kReconnectTimeout = absl::Seconds(10);
constexpr absl::Duration kRetryInterval = absl::Milliseconds(200);

using AsyncSandboxes = SandboxService::StubInterface::async_interface;
using AsyncExecutions = ExecutionService::StubInterface::async_interface;

}  // namespace

ServerCalls::ServerCalls(PollLoop* loop, client::ConnectOptions options,
                         absl::Duration patience)
    : loop_(loop), options_(std::move(options)), patience_(patience) {}

ServerCalls::~ServerCalls() { CHECK(idle()) << "calls are outstanding"; }

template <typename Async, typename Request, typename Response>
void ServerCalls::Make(std::unique_ptr<Call<Async, Request, Response>> call) {
  ++outstanding_;
  // Only the loop's thread owns the call. If gRPC's thread destroyed the
  // context it might destroy the channel with it, which must not happen there.
  auto* pending = call.release();
  pending->context.emplace();
  pending->context->set_wait_for_ready(true);
  pending->context->set_deadline(absl::ToChronoTime(pending->deadline));
  pending->begin = absl::Now();
  (pending->async->*pending->method)(
      &*pending->context, &pending->request, &pending->response,
      [this, pending](const grpc::Status& status) {
        loop_->Post([this, pending, status] {
          Finish(std::unique_ptr<Call<Async, Request, Response>>(pending),
                 status);
        });
      });
}

template <typename Async, typename Request, typename Response>
void ServerCalls::Finish(std::unique_ptr<Call<Async, Request, Response>> call,
                         const grpc::Status& status) {
  const absl::Time now = absl::Now();
  const auto attempt = call->schedule.OnResult(status, call->begin, now);
  if (attempt.has_value() && now + attempt->delay < call->deadline) {
    loop_->After(attempt->delay, [this, call = std::move(call)]() mutable {
      --outstanding_;
      Make(std::move(call));
    });
    return;
  }
  --outstanding_;
  if (status.ok()) {
    call->done(std::move(call->response));
  } else {
    call->done(client::ToStatus(status));
  }
}

template <typename Async, typename Request, typename Response>
void ServerCalls::Begin(Async* async, Method<Async, Request, Response> method,
                        const Request& request, Done<Response> done) {
  const client::RetryRules rules = {patience_, kRetryInterval};
  Make(std::unique_ptr<Call<Async, Request, Response>>(
      new Call<Async, Request, Response>{
          async, method, request, absl::Now() + patience_,
          client::RetrySchedule(rules), absl::Time(), std::move(done),
          Response(), std::nullopt}));
}

void ServerCalls::CreateSandbox(const corral::v1::CreateSandboxRequest& request,
                                Done<corral::v1::Sandbox> done) {
  Connect([this, request,
           done = std::move(done)](const absl::Status& status) mutable {
    if (status.ok()) {
      Begin(connection_->sandboxes().async(), &AsyncSandboxes::CreateSandbox,
            request, std::move(done));
    } else {
      done(status);
    }
  });
}

void ServerCalls::StartExecution(
    const corral::v1::StartExecutionRequest& request,
    Done<corral::v1::Execution> done) {
  Begin(connection_->executions().async(), &AsyncExecutions::StartExecution,
        request, std::move(done));
}

void ServerCalls::SignalExecution(
    const corral::v1::SignalExecutionRequest& request, Done<Empty> done) {
  Begin(connection_->executions().async(), &AsyncExecutions::SignalExecution,
        request, std::move(done));
}

void ServerCalls::DeleteExecution(const std::string& name, Done<Empty> done) {
  corral::v1::DeleteExecutionRequest request;
  request.set_name(name);
  Begin(connection_->executions().async(), &AsyncExecutions::DeleteExecution,
        request, std::move(done));
}

void ServerCalls::GetSandbox(const std::string& name,
                             Done<corral::v1::Sandbox> done) {
  corral::v1::GetSandboxRequest request;
  request.set_name(name);
  Begin(connection_->sandboxes().async(), &AsyncSandboxes::GetSandbox, request,
        std::move(done));
}

void ServerCalls::DeleteSandbox(const std::string& name, Done<Empty> done) {
  corral::v1::DeleteSandboxRequest request;
  request.set_name(name);
  Begin(connection_->sandboxes().async(), &AsyncSandboxes::DeleteSandbox,
        request, std::move(done));
}

void ServerCalls::Connect(absl::AnyInvocable<void(absl::Status)> done) {
  struct Attempt {
    std::thread thread;
    std::unique_ptr<client::Connection> opened;
    absl::Status status;
    absl::AnyInvocable<void(absl::Status)> done;
  };
  auto attempt = std::make_shared<Attempt>();
  attempt->done = std::move(done);
  ++outstanding_;
  const auto finish = [this, attempt] {
    attempt->thread.join();
    --outstanding_;
    if (connection_ == nullptr && attempt->opened != nullptr) {
      connection_ = std::move(attempt->opened);
    }
    attempt->done(attempt->status);
  };
  attempt->thread =
      std::thread([this, attempt, finish, known = connection_.get()] {
        if (known == nullptr) {
          auto opened = client::Connection::Open(options_);
          attempt->status = opened.status();
          attempt->opened = opened.ok() ? *std::move(opened) : nullptr;
        } else if (!known->Reconnect(absl::Now() + kReconnectTimeout)) {
          attempt->status = absl::UnavailableError(
              absl::StrCat("no server at ", known->address()));
        }
        loop_->Post(finish);
      });
}

}  // namespace bridge
