#include "bridge/acp/server_calls.h"

#include "absl/strings/str_cat.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

using corral::v1::ExecutionService;
using corral::v1::SandboxService;
using google::protobuf::Empty;

constexpr absl::Duration kTimeout = absl::Seconds(30);
constexpr absl::Duration kReconnectTimeout = absl::Seconds(10);
// The bridge is about to end and its client waits for that.
constexpr absl::Duration kDeleteTimeout = absl::Seconds(10);

using AsyncSandboxes = SandboxService::StubInterface::async_interface;
using AsyncExecutions = ExecutionService::StubInterface::async_interface;

}  // namespace

ServerCalls::ServerCalls(EventLoop* loop, client::ConnectOptions options)
    : loop_(loop), options_(std::move(options)) {}

ServerCalls::~ServerCalls() { CHECK(idle()) << "calls are outstanding"; }

template <typename Async, typename Request, typename Response>
void ServerCalls::Make(Async* async,
                       void (Async::*method)(grpc::ClientContext*,
                                             const Request*, Response*,
                                             std::function<void(grpc::Status)>),
                       const Request& request, absl::Duration timeout,
                       Done<Response> done) {
  auto call = std::make_shared<Call<Request, Response>>();
  call->request = request;
  call->done = std::move(done);
  call->context.set_wait_for_ready(true);
  call->context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  ++outstanding_;
  const auto finish = [this, call](const grpc::Status& status) {
    --outstanding_;
    if (status.ok()) {
      call->done(std::move(call->response));
    } else {
      call->done(client::ToStatus(status));
    }
  };
  (async->*method)(&call->context, &call->request, &call->response,
                   [this, finish](grpc::Status status) {
                     loop_->Post([finish, status] { finish(status); });
                   });
}

void ServerCalls::CreateSandbox(const corral::v1::CreateSandboxRequest& request,
                                Done<corral::v1::Sandbox> done) {
  Connect([this, request, done = std::move(done)](absl::Status status) mutable {
    if (!status.ok()) {
      done(status);
      return;
    }
    Make(connection_->sandboxes().async(), &AsyncSandboxes::CreateSandbox,
         request, kTimeout, std::move(done));
  });
}

void ServerCalls::StartExecution(
    const corral::v1::StartExecutionRequest& request,
    Done<corral::v1::Execution> done) {
  Make(connection_->executions().async(), &AsyncExecutions::StartExecution,
       request, kTimeout, std::move(done));
}

void ServerCalls::SignalExecution(
    const corral::v1::SignalExecutionRequest& request, Done<Empty> done) {
  Make(connection_->executions().async(), &AsyncExecutions::SignalExecution,
       request, kTimeout, std::move(done));
}

void ServerCalls::DeleteExecution(const std::string& name, Done<Empty> done) {
  corral::v1::DeleteExecutionRequest request;
  request.set_name(name);
  Make(connection_->executions().async(), &AsyncExecutions::DeleteExecution,
       request, kDeleteTimeout, std::move(done));
}

void ServerCalls::DeleteSandbox(const std::string& name, Done<Empty> done) {
  corral::v1::DeleteSandboxRequest request;
  request.set_name(name);
  Make(connection_->sandboxes().async(), &AsyncSandboxes::DeleteSandbox,
       request, kDeleteTimeout, std::move(done));
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
