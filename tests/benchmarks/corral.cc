#include "tests/benchmarks/corral.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/status_macros.h"

namespace tests {
namespace {

using ::corral::v1::OutputEvent;

absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) +
         absl::Nanoseconds(time.nanos());
}

}  // namespace

corral::v1::RunExecutionRequest MakeRequest(
    const std::string& parent, const std::vector<std::string>& argv) {
  corral::v1::RunExecutionRequest request;
  request.set_parent(parent);
  for (const std::string& argument : argv) {
    request.mutable_command()->add_argv(argument);
  }
  return request;
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

absl::Status CheckEnd(const OutputEvent& event) {
  if (!event.has_ended()) {
    return absl::InternalError("the stream ended before its command");
  }
  return CheckEnd(event.ended());
}

absl::Status CheckEnd(const corral::v1::Execution& execution) {
  if (execution.state() != corral::v1::Execution::EXITED ||
      !execution.exit().has_code() || execution.exit().code() != 0) {
    return absl::InternalError(
        absl::StrCat("the command ended badly: ", execution.DebugString()));
  }
  return absl::OkStatus();
}

Corral::Corral(const std::shared_ptr<grpc::Channel>& channel)
    : sandboxes_(corral::v1::SandboxService::NewStub(channel)),
      executions_(corral::v1::ExecutionService::NewStub(channel)) {}

absl::StatusOr<std::string> Corral::CreateSandbox(const std::string& workspace,
                                                  uint32_t max_ended) {
  grpc::ClientContext context;
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  if (!workspace.empty()) {
    request.mutable_sandbox()->mutable_workspace()->set_path(workspace);
  }
  if (max_ended > 0) {
    request.mutable_sandbox()->mutable_retention()->set_max_ended_executions(
        max_ended);
  }
  corral::v1::Sandbox sandbox;
  RETURN_IF_ERROR(
      FromGrpc(sandboxes_->CreateSandbox(&context, request, &sandbox)));
  return sandbox.name();
}

absl::StatusOr<corral::v1::Sandbox> Corral::GetSandbox(
    const std::string& name) {
  grpc::ClientContext context;
  corral::v1::GetSandboxRequest request;
  request.set_name(name);
  corral::v1::Sandbox sandbox;
  RETURN_IF_ERROR(
      FromGrpc(sandboxes_->GetSandbox(&context, request, &sandbox)));
  return sandbox;
}

absl::Status Corral::DeleteSandbox(const std::string& name) {
  grpc::ClientContext context;
  corral::v1::DeleteSandboxRequest request;
  request.set_name(name);
  google::protobuf::Empty response;
  return FromGrpc(sandboxes_->DeleteSandbox(&context, request, &response));
}

absl::Status Corral::AwaitNoSandbox() {
  corral::v1::ListSandboxesRequest request;
  request.set_parent(kTenant);
  while (true) {
    grpc::ClientContext context;
    corral::v1::ListSandboxesResponse response;
    RETURN_IF_ERROR(
        FromGrpc(sandboxes_->ListSandboxes(&context, request, &response)));
    if (response.sandboxes().empty()) {
      return absl::OkStatus();
    }
    absl::SleepFor(absl::Microseconds(200));
  }
}

absl::StatusOr<std::string> Corral::Start(
    const std::string& sandbox, const std::vector<std::string>& argv) {
  grpc::ClientContext context;
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox);
  request.mutable_command()->set_stdin(true);
  for (const std::string& argument : argv) {
    request.mutable_command()->add_argv(argument);
  }
  corral::v1::Execution execution;
  RETURN_IF_ERROR(
      FromGrpc(executions_->StartExecution(&context, request, &execution)));
  return execution.name();
}

absl::Status Corral::Wait(const std::string& execution) {
  grpc::ClientContext context;
  corral::v1::WaitExecutionRequest request;
  request.set_name(execution);
  corral::v1::Execution ended;
  return FromGrpc(executions_->WaitExecution(&context, request, &ended));
}

absl::StatusOr<Corral::Ran> Corral::Run(const std::string& parent,
                                        const std::vector<std::string>& argv) {
  const corral::v1::RunExecutionRequest request = MakeRequest(parent, argv);
  OutputEvent event;
  const absl::Time begin = absl::Now();
  grpc::ClientContext context;
  auto reader = executions_->RunExecution(&context, request);
  while (reader->Read(&event)) {
  }
  const grpc::Status status = reader->Finish();
  const absl::Duration elapsed = absl::Now() - begin;
  RETURN_IF_ERROR(FromGrpc(status));
  RETURN_IF_ERROR(CheckEnd(event));
  return Ran{
      elapsed, event.ended().name(),
      ToTime(event.ended().end_time()) - ToTime(event.ended().create_time())};
}

absl::StatusOr<absl::Duration> Corral::RunCommand(
    const std::string& sandbox, const std::vector<std::string>& argv) {
  ASSIGN_OR_RETURN(const Ran ran, Run(sandbox, argv));
  return ran.elapsed;
}

absl::StatusOr<absl::Duration> Corral::TimeCommand(
    const std::string& parent, const std::vector<std::string>& argv,
    absl::Duration* supervised) {
  ASSIGN_OR_RETURN(const Ran ran, Run(parent, argv));
  if (supervised != nullptr) {
    *supervised = ran.supervised;
  }
  RETURN_IF_ERROR(parent == kTenant ? DeleteSandbox(ran.name.substr(
                                          0, ran.name.find("/executions/")))
                                    : DeleteExecution(ran.name));
  return ran.elapsed;
}

absl::Status Corral::DeleteExecution(const std::string& name) {
  grpc::ClientContext context;
  corral::v1::DeleteExecutionRequest request;
  request.set_name(name);
  google::protobuf::Empty response;
  return FromGrpc(executions_->DeleteExecution(&context, request, &response));
}

}  // namespace tests
