#include "server/rpc/server_fixture.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/error_info.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "server/api/names.h"
#include "server/core/lanes.h"
#include "server/core/protections.h"
#include "server/core/sandboxes.h"
#include "server/core/state_directory.h"
#include "server/core/workspace_checks.h"
#include "server/rpc/execution_service.h"
#include "server/rpc/sandbox_service.h"
#include "server/runtime/activity.h"

namespace server {

namespace {

template <typename Detail>
Detail Find(const grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  Detail detail;
  for (const auto& any : details.details()) {
    if (any.UnpackTo(&detail)) {
      break;
    }
  }
  return detail;
}

corral::v1::IsolationFeature Enforced(const std::string& name) {
  corral::v1::IsolationFeature feature;
  feature.set_name(name);
  feature.set_state(corral::v1::IsolationFeature::ENFORCED);
  return feature;
}

WorkspacePolicy PolicyOf(const std::string& state_directory) {
  WorkspacePolicy::Options options;
  options.roots = {"/"};
  options.state_directory = state_directory;
  return WorkspacePolicy(options);
}

std::string PathOfTest() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return absl::StrCat(::testing::TempDir(), "/", test->test_suite_name(), "_",
                      test->name());
}

}  // namespace

ServerFixture::ServerFixture(uint32_t max_sandboxes, uint32_t max_executions,
                             size_t max_waiting_calls,
                             uint64_t max_waiting_input)
    : path_(PathOfTest()),
      policy_(PolicyOf(path_)),
      max_sandboxes_(max_sandboxes),
      max_executions_(max_executions),
      max_waiting_calls_(max_waiting_calls),
      max_waiting_input_(max_waiting_input) {
  std::filesystem::remove_all(path_);
  check_workspace_ = [this](const std::string& path, bool read_only) {
    return policy_.Check(path, read_only);
  };
  Begin();
}

ServerFixture::~ServerFixture() {
  sandboxes_->DeleteAll(sandbox::wire::ExitRecord::SERVER_SHUTDOWN);
  AwaitNoSandbox();
  End();
  std::filesystem::remove_all(path_);
}

void ServerFixture::Begin() {
  state_ = StateDirectory::Open(path_).value();
  activity_ = std::make_unique<Activity>(
      &timers_, Activity::Options{absl::ZeroDuration(), max_waiting_calls_,
                                  max_waiting_input_});
  lanes_ = std::make_unique<Lanes>();
  heap_ = std::make_unique<HeapTrim>(&timers_, &lanes_->removals);
  workspaces_ = std::make_unique<WorkspaceChecks>(
      [this](const std::string& path, bool read_only) {
        return check_workspace_(path, read_only);
      },
      &timers_, &lanes_->workspaces);
  mounts_ = std::make_unique<WorkspaceChecks>(
      [this](const std::string& path, bool read_only) {
        return policy_.CheckMount(path, read_only);
      },
      &timers_, &lanes_->workspaces);
  Sandboxes::Options options;
  options.max_sandboxes = max_sandboxes_;
  // Tests count the timers of calls.
  options.sync_delay = absl::ZeroDuration();
  options.max_executions_per_sandbox = max_executions_;
  ceilings_.set_kill_grace_seconds(kMaxKillGraceSeconds);
  ceilings_.set_wall_timeout_seconds(kMaxWallSeconds);
  ceilings_.mutable_limits()->set_pids(kMaxPids);
  options.defaults.limits.set_output_bytes(kOutputBytes);
  options.totals.output_bytes = kMaxOutputBytes;
  options.protections = Protections({Enforced("seccomp")});
  sandboxes_ = std::make_unique<Sandboxes>(
      Sandboxes::Environment{&factory_, state_.get(), &storage_,
                             activity_.get(), &timers_, lanes_.get(),
                             workspaces_.get(), mounts_.get(), heap_.get()},
      options);
  EXPECT_TRUE(sandboxes_->Recover().ok());
  AwaitLanes();
  sandbox_service_ = std::make_unique<SandboxService>(
      sandboxes_.get(), &lanes_->reads, activity_.get(), ceilings_);
  execution_service_ = std::make_unique<ExecutionService>(
      sandboxes_.get(), &timers_, &lanes_->reads, activity_.get(), ceilings_);
  grpc::ServerBuilder builder;
  builder.RegisterService(sandbox_service_.get());
  builder.RegisterService(execution_service_.get());
  server_ = builder.BuildAndStart();
  const std::shared_ptr<grpc::Channel> channel =
      server_->InProcessChannel(grpc::ChannelArguments());
  sandbox_stub_ = corral::v1::SandboxService::NewStub(channel);
  execution_stub_ = corral::v1::ExecutionService::NewStub(channel);
}

void ServerFixture::End() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
  // A client may have its answer before the call has ended here.
  activity_->AwaitNoCall(absl::Hours(1));
  activity_->AwaitNoStart(absl::Hours(1));
  timers_.Clear();
  lanes_->Stop();
  sandboxes_.reset();
  state_.reset();
}

void ServerFixture::AwaitLanes() {
  // A job of one lane may have given work to another lane.
  for (int i = 0; i < 2; ++i) {
    lanes_->descriptions.AwaitIdle();
    lanes_->records.AwaitIdle();
    lanes_->launches.AwaitIdle();
    lanes_->removals.AwaitIdle();
    lanes_->kills.AwaitIdle();
  }
}

void ServerFixture::Restart() {
  End();
  Begin();
}

std::string ServerFixture::CreateSandbox(const std::string& id) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenantName);
  request.set_sandbox_id(id);
  corral::v1::Sandbox response;
  const grpc::Status status = Call(
      sandbox_stub_.get(), &SandboxStub::CreateSandbox, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.state(), corral::v1::Sandbox::READY);
  return response.name();
}

std::string ServerFixture::StartExecution(const std::string& sandbox_name,
                                          const corral::v1::Command& command) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox_name);
  *request.mutable_command() = command;
  corral::v1::Execution response;
  const grpc::Status status =
      Call(execution_stub_.get(), &ExecutionStub::StartExecution, request,
           &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.name();
}

std::string ServerFixture::StartOne() {
  return StartExecution(CreateSandbox(), Command());
}

corral::v1::Execution ServerFixture::Get(const std::string& name) {
  corral::v1::GetExecutionRequest request;
  request.set_name(name);
  corral::v1::Execution response;
  const grpc::Status status = Call(
      execution_stub_.get(), &ExecutionStub::GetExecution, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

corral::v1::Execution ServerFixture::Wait(const std::string& name) {
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  corral::v1::Execution response;
  const grpc::Status status = Call(
      execution_stub_.get(), &ExecutionStub::WaitExecution, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

void ServerFixture::AwaitNoSandbox() {
  EXPECT_TRUE(activity_->AwaitNoSandbox(absl::Hours(1)));
}

std::unique_ptr<ServerFixture::OutputCall> ServerFixture::Stream(
    const corral::v1::StreamOutputRequest& request) {
  auto call = std::make_unique<OutputCall>();
  call->reader = execution_stub_->StreamOutput(&call->context, request);
  return call;
}

std::unique_ptr<ServerFixture::OutputCall> ServerFixture::Stream(
    const std::string& name) {
  corral::v1::StreamOutputRequest request;
  request.set_name(name);
  return Stream(request);
}

std::unique_ptr<ServerFixture::OutputCall> ServerFixture::Run(
    const corral::v1::RunExecutionRequest& request) {
  auto call = std::make_unique<OutputCall>();
  call->reader = execution_stub_->RunExecution(&call->context, request);
  return call;
}

corral::v1::OutputEvent ServerFixture::OutputCall::Next() {
  corral::v1::OutputEvent event;
  return reader->Read(&event) ? event : corral::v1::OutputEvent();
}

ServerFixture::Events ServerFixture::OutputCall::Rest(grpc::Status* status) {
  Events events;
  corral::v1::OutputEvent event;
  while (reader->Read(&event)) {
    events.push_back(event);
  }
  const grpc::Status result = reader->Finish();
  if (status == nullptr) {
    EXPECT_TRUE(result.ok()) << result.error_message();
  } else {
    *status = result;
  }
  return events;
}

corral::v1::Command ServerFixture::Command(
    const std::vector<std::string>& arguments) {
  corral::v1::Command command;
  for (const std::string& argument : arguments) {
    command.add_argv(argument);
  }
  return command;
}

std::string ServerFixture::BytesOf(const Events& events,
                                   corral::v1::Stream stream) {
  std::string bytes;
  for (const auto& event : events) {
    if (event.has_chunk() && event.chunk().stream() == stream) {
      EXPECT_EQ(event.chunk().offset(), bytes.size());
      bytes += event.chunk().data();
    }
  }
  return bytes;
}

std::string ServerFixture::Reason(const grpc::Status& status) {
  const auto info = Find<google::rpc::ErrorInfo>(status);
  EXPECT_EQ(info.domain(), "corral.v1") << status.error_message();
  return info.reason();
}

std::string ServerFixture::Field(const grpc::Status& status) {
  const auto bad_request = Find<google::rpc::BadRequest>(status);
  return bad_request.field_violations().empty()
             ? ""
             : bad_request.field_violations(0).field();
}

}  // namespace server
