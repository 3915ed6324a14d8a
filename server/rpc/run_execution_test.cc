// RunExecution, and calls that a draining server refuses, from a client's side.

#include <string>
#include <thread>

#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/core/sandbox.h"
#include "server/core/viewers.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::tests::FakeSupervisor;

constexpr char kTenant[] = "tenants/default";
constexpr char kBox[] = "tenants/default/sandboxes/box";

class RunExecutionTest : public ServerFixture {
 protected:
  static corral::v1::RunExecutionRequest In(const std::string& parent) {
    corral::v1::RunExecutionRequest request;
    request.set_parent(parent);
    *request.mutable_command() = Command();
    return request;
  }
  grpc::Status Refusal(const corral::v1::RunExecutionRequest& request) {
    grpc::Status status;
    EXPECT_EQ(Run(request)->Rest(&status).size(), 0);
    return status;
  }
  void RefuseStarts(wire::Reply::Failure failure) {
    factory_.With("box", [&](FakeSupervisor& supervisor) {
      supervisor.RefuseStarts(sandbox::MakeFailure(failure, "as wanted"));
    });
  }
  // Ends a call from the client's side.
  static void Cancel(OutputCall* call) {
    call->context.TryCancel();
    grpc::Status status;
    call->Rest(&status);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  }
};

TEST_F(RunExecutionTest, ARunWithAnInvalidFieldIsRefused) {
  CreateSandbox("box");
  for (const char* parent : {kTenant, kBox}) {
    corral::v1::RunExecutionRequest request = In(parent);
    request.set_execution_id("No");
    EXPECT_EQ(Field(Refusal(request)), "execution_id") << parent;
    request = In(parent);
    request.set_request_id("\n");
    EXPECT_EQ(Field(Refusal(request)), "request_id") << parent;
    request = In(parent);
    request.clear_command();
    EXPECT_EQ(Field(Refusal(request)), "command.argv") << parent;
  }
  corral::v1::RunExecutionRequest request = In(kTenant);
  request.set_sandbox_id("No");
  EXPECT_EQ(Field(Refusal(request)), "sandbox_id");
  request = In(kBox);
  request.mutable_sandbox();
  EXPECT_EQ(Field(Refusal(request)), "parent");
  EXPECT_EQ(sandboxes_->registry().size(), 1);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_EQ(supervisor.starts(), 0);
  });
}

TEST_F(RunExecutionTest, ACommandBeginsInTheWorkspaceOfItsSandbox) {
  corral::v1::CreateSandboxRequest create;
  create.set_parent(kTenant);
  create.set_sandbox_id("box");
  create.mutable_sandbox()->mutable_workspace()->set_path("/usr/src");
  corral::v1::Sandbox sandbox;
  ASSERT_TRUE(
      Call(sandbox_stub_.get(), &SandboxStub::CreateSandbox, create, &sandbox)
          .ok());
  corral::v1::RunExecutionRequest request = In(kBox);
  request.mutable_command()->set_working_directory("/usr/lib");
  EXPECT_EQ(Field(Refusal(request)), "command.working_directory");
  corral::v1::StartExecutionRequest start;
  start.set_parent(kBox);
  *start.mutable_command() = request.command();
  corral::v1::Execution execution;
  EXPECT_EQ(Field(Call(execution_stub_.get(), &ExecutionStub::StartExecution,
                       start, &execution)),
            "command.working_directory");
  request.set_parent(kTenant);
  *request.mutable_sandbox() = create.sandbox();
  EXPECT_EQ(Field(Refusal(request)), "command.working_directory");
  // Without a workspace, it may begin anywhere.
  request.clear_sandbox();
  const auto call = Run(request);
  EXPECT_TRUE(call->Next().has_opened());
  Cancel(call.get());
}

TEST_F(RunExecutionTest, ARunHasTheIdsAndTheLimitsThatItsRequestNames) {
  corral::v1::RunExecutionRequest request = In(kTenant);
  request.set_sandbox_id("box");
  request.set_execution_id("first");
  request.mutable_sandbox()->mutable_limits()->set_pids(50);
  const auto first = Run(request);
  corral::v1::Execution opened = first->Next().opened();
  EXPECT_EQ(opened.name(), "tenants/default/sandboxes/box/executions/first");
  EXPECT_EQ(opened.command().wall_timeout().seconds(), kMaxWallSeconds);
  const auto sandbox = sandboxes_->registry().Find("box");
  EXPECT_EQ(sandbox->Describe().limits().pids(), 50);
  request = In(kBox);
  request.set_execution_id("second");
  const auto second = Run(request);
  opened = second->Next().opened();
  EXPECT_EQ(opened.name(), "tenants/default/sandboxes/box/executions/second");
  EXPECT_EQ(opened.command().wall_timeout().seconds(), kMaxWallSeconds);
  Cancel(second.get());
  Cancel(first.get());
}

TEST_F(RunExecutionTest, AServerThatDrainsTakesNoNewWork) {
  CreateSandbox("box");
  activity_->RefuseWork(absl::Seconds(1));
  EXPECT_EQ(Reason(Refusal(In(kTenant))), "SERVER_DRAINING");
  EXPECT_EQ(Reason(Refusal(In(kBox))), "SERVER_DRAINING");
  corral::v1::StartExecutionRequest start;
  start.set_parent(kBox);
  *start.mutable_command() = Command();
  corral::v1::Execution execution;
  EXPECT_EQ(Reason(Call(execution_stub_.get(), &ExecutionStub::StartExecution,
                        start, &execution)),
            "SERVER_DRAINING");
  corral::v1::CreateSandboxRequest create;
  create.set_parent(kTenant);
  corral::v1::Sandbox sandbox;
  EXPECT_EQ(Reason(Call(sandbox_stub_.get(), &SandboxStub::CreateSandbox,
                        create, &sandbox)),
            "SERVER_DRAINING");
  EXPECT_EQ(sandboxes_->registry().size(), 1);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_EQ(supervisor.starts(), 0);
  });
}

TEST_F(RunExecutionTest, AStartWithAnInvalidFieldIsRefused) {
  corral::v1::StartExecutionRequest start;
  start.set_parent(CreateSandbox("box"));
  *start.mutable_command() = Command();
  start.set_request_id("\n");
  corral::v1::Execution execution;
  EXPECT_EQ(Field(Call(execution_stub_.get(), &ExecutionStub::StartExecution,
                       start, &execution)),
            "request_id");
}

TEST_F(RunExecutionTest, AStartIsAnsweredWithTheWholeCommand) {
  corral::v1::StartExecutionRequest start;
  start.set_parent(CreateSandbox("box"));
  *start.mutable_command() = Command({"a", std::string(100 << 10, 'x'), "b"});
  start.mutable_command()->add_environment()->set_name("NAME");
  corral::v1::Execution execution;
  ASSERT_TRUE(Call(execution_stub_.get(), &ExecutionStub::StartExecution, start,
                   &execution)
                  .ok());
  ASSERT_EQ(execution.command().argv_size(), 3);
  EXPECT_EQ(execution.command().argv(2), "b");
  ASSERT_EQ(execution.command().environment_size(), 1);
  EXPECT_EQ(execution.command().environment(0).name(), "NAME");
}

TEST_F(RunExecutionTest, ARunThatIsRefusedLeavesASandboxThatExisted) {
  CreateSandbox("box");
  RefuseStarts(wire::Reply::FAULT);
  // The second answer comes when the server is done with the first.
  EXPECT_EQ(Reason(Refusal(In(kBox))), "SERVER_FAULT");
  EXPECT_EQ(Reason(Refusal(In(kBox))), "SERVER_FAULT");
  EXPECT_EQ(sandboxes_->registry().Find("box")->Describe().state(),
            corral::v1::Sandbox::READY);
}

TEST_F(RunExecutionTest, AClientThatLeavesBeforeTheStartIsNoViewer) {
  corral::v1::RunExecutionRequest request = In(kTenant);
  request.set_sandbox_id("box");
  const auto first = Run(request);
  EXPECT_TRUE(first->Next().has_opened());
  // The start of the second command is not answered until the test does it.
  RefuseStarts(wire::Reply::SUPERVISOR_GONE);
  request = In(kBox);
  request.set_execution_id("late");
  const auto second = Run(request);
  const auto sandbox = sandboxes_->registry().Find("box");
  while (sandbox->execution_count() < 2) {
    std::this_thread::yield();
  }
  Cancel(second.get());
  Cancel(first.get());
  EXPECT_TRUE(activity_->AwaitNoLastingCall(absl::Hours(1)));
  factory_.With("box", [&](FakeSupervisor& /*supervisor*/) {
    wire::ExecutionRecord record;
    record.set_id("late");
    record.set_state(wire::ExecutionRecord::RUNNING);
    sandbox->OnExecution(record);
  });
  EXPECT_EQ(sandbox->Describe().state(), corral::v1::Sandbox::READY);
  timers_.Advance(Viewers::kPatience);
  EXPECT_NE(sandbox->Describe().state(), corral::v1::Sandbox::READY);
}

TEST_F(RunExecutionTest, ASandboxThatWasMadeToStayOutlivesItsViewers) {
  CreateSandbox("box");
  const auto run = Run(In(kBox));
  const auto stream = Stream(run->Next().opened().name());
  EXPECT_TRUE(stream->Next().has_opened());
  Cancel(stream.get());
  Cancel(run.get());
  EXPECT_TRUE(activity_->AwaitNoLastingCall(absl::Hours(1)));
  timers_.Advance(Viewers::kPatience);
  EXPECT_EQ(sandboxes_->registry().Find("box")->Describe().state(),
            corral::v1::Sandbox::READY);
}

}  // namespace
}  // namespace server
