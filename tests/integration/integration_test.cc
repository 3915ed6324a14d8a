#include "tests/integration/integration_test.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/error_info.pb.h"
#include "google/rpc/status.pb.h"

namespace tests {
namespace {

using ::corral::v1::Command;
using ::corral::v1::Execution;

template <typename Detail>
bool Find(const grpc::Status& status, Detail* detail) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  for (const auto& any : details.details()) {
    if (any.UnpackTo(detail)) {
      return true;
    }
  }
  return false;
}

void ExpectOk(const grpc::Status& status) {
  EXPECT_TRUE(status.ok()) << status.error_code() << " "
                           << status.error_message();
}

}  // namespace

bool OutputCall::Next() {
  corral::v1::OutputEvent event;
  if (!reader->Read(&event)) {
    return false;
  }
  if (event.has_opened()) {
    opened = event.opened();
  } else if (event.has_chunk()) {
    bytes[event.chunk().stream()] += event.chunk().data();
  } else if (event.has_gap()) {
    gaps.push_back(event.gap());
  } else if (event.has_ended()) {
    ended = event.ended();
  }
  return true;
}

void OutputCall::ReadUntil(corral::v1::Stream stream, const std::string& text) {
  while (!absl::StrContains(bytes[stream], text)) {
    ASSERT_TRUE(Next()) << "no \"" << text << "\" in " << bytes[stream];
  }
}

grpc::Status OutputCall::Finish() {
  while (Next()) {
  }
  return reader->Finish();
}

Client::Client(const std::shared_ptr<grpc::Channel>& channel)
    : sandboxes_(corral::v1::SandboxService::NewStub(channel)),
      executions_(corral::v1::ExecutionService::NewStub(channel)),
      admin_(corral::v1::AdminService::NewStub(channel)) {}

std::string Client::CreateSandbox(
    const corral::v1::CreateSandboxRequest& request) {
  corral::v1::Sandbox sandbox;
  ExpectOk(Call(&SandboxStub::CreateSandbox, request, &sandbox));
  return sandbox.name();
}

Execution Client::Start(const std::string& sandbox, const Command& command) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox);
  *request.mutable_command() = command;
  Execution execution;
  ExpectOk(Call(&ExecutionStub::StartExecution, request, &execution));
  return execution;
}

Execution Client::Get(const std::string& execution) {
  corral::v1::GetExecutionRequest request;
  request.set_name(execution);
  Execution response;
  ExpectOk(Call(&ExecutionStub::GetExecution, request, &response));
  return response;
}

Execution Client::Wait(const std::string& execution) {
  corral::v1::WaitExecutionRequest request;
  request.set_name(execution);
  Execution response;
  ExpectOk(Call(&ExecutionStub::WaitExecution, request, &response));
  return response;
}

void Client::WriteInput(const std::string& execution, uint64_t offset,
                        const std::string& data, bool eof) {
  corral::v1::WriteInputRequest request;
  request.set_name(execution);
  request.set_offset(offset);
  request.set_data(data);
  request.set_eof(eof);
  corral::v1::InputState state;
  ExpectOk(Call(&ExecutionStub::WriteInput, request, &state));
  EXPECT_EQ(state.accepted_offset(), offset + data.size());
}

void Client::Delete(const std::string& execution) {
  corral::v1::DeleteExecutionRequest request;
  request.set_name(execution);
  google::protobuf::Empty response;
  ExpectOk(Call(&ExecutionStub::DeleteExecution, request, &response));
}

void Client::DeleteSandbox(const std::string& sandbox) {
  corral::v1::DeleteSandboxRequest request;
  request.set_name(sandbox);
  google::protobuf::Empty response;
  ExpectOk(Call(&SandboxStub::DeleteSandbox, request, &response));
}

std::unique_ptr<OutputCall> Client::Run(const std::string& parent,
                                        const Command& command) {
  corral::v1::RunExecutionRequest request;
  request.set_parent(parent);
  *request.mutable_command() = command;
  auto call = BeginRun(request);
  ExpectOk(call->Finish());
  if (!absl::StrContains(parent, "/sandboxes/")) {
    const std::string& name = call->ended.name();
    DeleteSandbox(name.substr(0, name.find("/executions/")));
  }
  return call;
}

corral::v1::ServerInfo Client::GetInfo() {
  grpc::ClientContext context;
  corral::v1::ServerInfo info;
  ExpectOk(admin_->GetServerInfo(&context, {}, &info));
  return info;
}

grpc::Status Client::Signal(const std::string& execution, int signal,
                            corral::v1::SignalExecutionRequest::Scope scope) {
  corral::v1::SignalExecutionRequest request;
  request.set_name(execution);
  request.set_signal(signal);
  request.set_scope(scope);
  google::protobuf::Empty response;
  return Call(&ExecutionStub::SignalExecution, request, &response);
}

std::unique_ptr<OutputCall> Client::Stream(
    const corral::v1::StreamOutputRequest& request) {
  auto call = std::make_unique<OutputCall>();
  call->reader = executions_->StreamOutput(&call->context, request);
  return call;
}

std::unique_ptr<OutputCall> Client::Stream(const std::string& execution) {
  corral::v1::StreamOutputRequest request;
  request.set_name(execution);
  return Stream(request);
}

std::unique_ptr<OutputCall> Client::BeginRun(
    const corral::v1::RunExecutionRequest& request) {
  auto call = std::make_unique<OutputCall>();
  call->reader = executions_->RunExecution(&call->context, request);
  return call;
}

void IntegrationTest::SetUp() {
  ASSERT_NO_FATAL_FAILURE(server_.Start());
  client_ = std::make_unique<Client>(server_.Connect());
}

void IntegrationTest::TearDown() {
  if (!server_.IsRunning()) {
    return;
  }
  EXPECT_FALSE(client_->GetInfo().draining());
  client_.reset();
  server_.End();
}

std::string IntegrationTest::CreateSandbox() {
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.mutable_sandbox()->mutable_workspace()->set_path(server_.workspace());
  return client_->CreateSandbox(request);
}

std::string IntegrationTest::CreateSandbox(const corral::v1::Limits& limits) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  *request.mutable_sandbox()->mutable_limits() = limits;
  return client_->CreateSandbox(request);
}

Command MakeCommand(const std::vector<std::string>& arguments) {
  Command command;
  for (const std::string& argument : arguments) {
    command.add_argv(argument);
  }
  return command;
}

Command Shell(const std::string& script) {
  Command command = MakeCommand({"sh", "-c", script});
  command.set_stdin(true);
  return command;
}

std::string Reason(const grpc::Status& status) {
  google::rpc::ErrorInfo info;
  Find(status, &info);
  EXPECT_EQ(info.domain(), "corral.v1") << status.error_message();
  return info.reason();
}

std::string Field(const grpc::Status& status) {
  google::rpc::BadRequest bad_request;
  Find(status, &bad_request);
  return bad_request.field_violations().empty()
             ? ""
             : bad_request.field_violations(0).field();
}

bool SaysWhenToRetry(const grpc::Status& status) {
  google::rpc::RetryInfo info;
  return Find(status, &info);
}

}  // namespace tests
