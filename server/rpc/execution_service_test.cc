// The calls of ExecutionService that do not read output, from a client's side.

#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
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
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::tests::FakeSupervisor;

class ExecutionServiceTest : public ServerFixture {
 protected:
  grpc::Status Start(const corral::v1::StartExecutionRequest& request,
                     corral::v1::Execution* response) {
    return Call(execution_stub_.get(), &ExecutionStub::StartExecution, request,
                response);
  }

  // Blocks until what the event loop gave to the lane of records has run.
  void AwaitRecordsLane() {
    factory_.With("box", [](FakeSupervisor&) {});
    lanes_->records.AwaitIdle();
  }

  grpc::Status Delete(const std::string& name) {
    corral::v1::DeleteExecutionRequest request;
    request.set_name(name);
    google::protobuf::Empty response;
    return Call(execution_stub_.get(), &ExecutionStub::DeleteExecution, request,
                &response);
  }

  // The server notices at some time that nobody watches, and then sets its
  // timer.
  void AdvanceUntilNoSandbox() {
    while (sandboxes_->registry().size() > 0) {
      timers_.Advance(Viewers::kPatience);
    }
    AwaitNoSandbox();
  }

  static corral::v1::RunExecutionRequest RunInNewSandbox() {
    corral::v1::RunExecutionRequest request;
    request.set_parent("tenants/default");
    *request.mutable_command() = Command();
    return request;
  }
};

TEST_F(ExecutionServiceTest, AnswersAStartWhenTheCommandRuns) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(CreateSandbox("box"));
  request.set_execution_id("job");
  *request.mutable_command() = Command({"make", "-j2"});
  corral::v1::Execution response;
  ASSERT_TRUE(Start(request, &response).ok());
  EXPECT_EQ(response.name(), "tenants/default/sandboxes/box/executions/job");
  EXPECT_EQ(response.state(), corral::v1::Execution::RUNNING);
  EXPECT_EQ(response.command().argv(1), "-j2");
  EXPECT_THAT(response.streams(), SizeIs(2));
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_THAT(supervisor.command("job").argv(), ElementsAre("make", "-j2"));
    EXPECT_THAT(supervisor.command("job").environment(),
                Contains(StartsWith("PATH=")));
  });
  request.mutable_command()->add_argv("another");
  EXPECT_EQ(Reason(Start(request, &response)), "EXECUTION_EXISTS");
}

TEST_F(ExecutionServiceTest, RefusesACommandWithAnInvalidField) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(CreateSandbox("box"));
  corral::v1::Execution response;
  EXPECT_EQ(Field(Start(request, &response)), "command.argv");
  *request.mutable_command() = Command({"a", std::string("b\0c", 3)});
  EXPECT_EQ(Field(Start(request, &response)), "command.argv[1]");
  *request.mutable_command() = Command({std::string(2 << 20, 'x')});
  EXPECT_EQ(Field(Start(request, &response)), "command.argv");
  *request.mutable_command() = Command();
  request.mutable_command()->set_working_directory("relative");
  EXPECT_EQ(Field(Start(request, &response)), "command.working_directory");
  request.mutable_command()->clear_working_directory();
  request.mutable_command()->mutable_kill_grace()->set_seconds(
      kMaxKillGraceSeconds + 1);
  EXPECT_EQ(Field(Start(request, &response)), "command.kill_grace");
  request.mutable_command()->clear_kill_grace();
  request.set_execution_id("No");
  EXPECT_EQ(Field(Start(request, &response)), "execution_id");
  request.clear_execution_id();
  request.set_parent("box");
  EXPECT_EQ(Field(Start(request, &response)), "parent");
  request.set_parent("tenants/default/sandboxes/none");
  EXPECT_EQ(Reason(Start(request, &response)), "SANDBOX_NOT_FOUND");
}

TEST_F(ExecutionServiceTest, ACommandThatNamesNoTimeoutGetsTheCeiling) {
  const std::string name =
      StartExecution(CreateSandbox("box"), Command({"sleep"}));
  EXPECT_EQ(Get(name).command().wall_timeout().seconds(), kMaxWallSeconds);
}

TEST_F(ExecutionServiceTest, AcceptsManyEnvironmentEntries) {
  corral::v1::Command command = Command();
  for (int i = 0; i < 10'000; ++i) {
    auto* variable = command.add_environment();
    variable->set_name(absl::StrCat("N", i));
    variable->set_value("v");
  }
  EXPECT_EQ(Get(StartExecution(CreateSandbox(), command))
                .command()
                .environment_size(),
            10'000);
}

TEST_F(ExecutionServiceTest, KeepsNoMoreExecutionsThanConfigured) {
  const std::string sandbox = CreateSandbox();
  for (int i = 0; i < kMaxExecutions; ++i) {
    StartExecution(sandbox, Command());
  }
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox);
  *request.mutable_command() = Command();
  corral::v1::Execution response;
  const grpc::Status status = Start(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Reason(status), "TOO_MANY_EXECUTIONS");
}

TEST_F(ExecutionServiceTest, AFailedStartIsAStateAndNotAnError) {
  const std::string sandbox = CreateSandbox("box");
  factory_.With("box", [](FakeSupervisor& supervisor) {
    wire::StartFailure failure;
    failure.set_stage(wire::StartFailure::CHDIR);
    failure.set_errno_value(2);
    supervisor.FailStarts(failure);
  });
  const corral::v1::Execution execution =
      Get(StartExecution(sandbox, Command()));
  EXPECT_EQ(execution.state(), corral::v1::Execution::FAILED_TO_START);
  EXPECT_EQ(execution.start_failure().stage(), corral::v1::StartFailure::CHDIR);
}

TEST_F(ExecutionServiceTest, WaitsForTheEnd) {
  const std::string name = StartOne();
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  request.mutable_timeout()->set_seconds(3600);
  corral::v1::Execution end;
  std::thread waiter([&] {
    EXPECT_TRUE(Call(execution_stub_.get(), &ExecutionStub::WaitExecution,
                     request, &end)
                    .ok());
  });
  // The call waits, since its timeout runs.
  timers_.AwaitTimers(1);
  factory_.Exit(name, 7);
  waiter.join();
  EXPECT_EQ(end.exit().code(), 7);
  EXPECT_EQ(end.exit().cause(), corral::v1::ExitStatus::NORMAL);
  EXPECT_EQ(Wait(name).exit().code(), 7);
}

TEST_F(ExecutionServiceTest, AWaitThatTimesOutAnswersWithThePresentState) {
  const std::string name = StartOne();
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  request.mutable_timeout();
  corral::v1::Execution response;
  std::thread waiter([&] {
    EXPECT_TRUE(Call(execution_stub_.get(), &ExecutionStub::WaitExecution,
                     request, &response)
                    .ok());
  });
  timers_.AwaitTimers(1);
  timers_.Advance(absl::ZeroDuration());
  waiter.join();
  EXPECT_EQ(response.state(), corral::v1::Execution::RUNNING);

  for (const int64_t seconds : {-1, 365 * 86'400 + 1}) {
    request.mutable_timeout()->set_seconds(seconds);
    EXPECT_EQ(Field(Call(execution_stub_.get(), &ExecutionStub::WaitExecution,
                         request, &response)),
              "timeout");
  }
}

TEST_F(ExecutionServiceTest, AWaitThatIsOverCountsAsAWaitingCallNoMore) {
  const std::string name = StartOne();
  factory_.Exit(name, 0);
  for (int i = 0; i < kMaxWaitingCalls; ++i) {
    Wait(name);
  }
  activity_->AwaitNoCall(absl::Hours(1));
  EXPECT_TRUE(Stream(name)->Next().has_opened());
}

TEST_F(ExecutionServiceTest, DeletionAnswersWaitersWithTheEnd) {
  const std::string name = StartOne();
  const auto stream = Stream(name);
  EXPECT_TRUE(stream->Next().has_opened());
  factory_.Write(name, wire::STDOUT, "last words");
  EXPECT_EQ(stream->Next().chunk().data(), "last words");
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  request.mutable_timeout()->set_seconds(3600);
  corral::v1::Execution end;
  std::thread waiter([&] {
    Call(execution_stub_.get(), &ExecutionStub::WaitExecution, request, &end);
  });
  // The stream's heartbeat and the wait's timeout: both calls have begun.
  timers_.AwaitTimers(2);
  EXPECT_TRUE(Delete(name).ok());
  const Events rest = stream->Rest();
  EXPECT_EQ(rest.back().ended().exit().signal(), SIGKILL);
  waiter.join();
  EXPECT_EQ(end.exit().cause(), corral::v1::ExitStatus::CLIENT_SIGNAL);
  EXPECT_EQ(Reason(Delete(name)), "EXECUTION_NOT_FOUND");
}

TEST_F(ExecutionServiceTest, AnEphemeralSandboxOutlivesTheEndOfItsCommand) {
  const auto call = Run(RunInNewSandbox());
  const std::string name = call->Next().opened().name();
  factory_.Write(name, wire::STDOUT, "x");
  factory_.Exit(name, 0);
  EXPECT_EQ(call->Rest().back().ended().exit().code(), 0);
  // A client that lost its connection before the end can ask again.
  EXPECT_EQ(BytesOf(Stream(name)->Rest(), corral::v1::STDOUT), "x");
  AdvanceUntilNoSandbox();
}

TEST_F(ExecutionServiceTest, AnEphemeralSandboxIsDeletedWhenNobodyWatches) {
  const auto call = Run(RunInNewSandbox());
  const std::string name = call->Next().opened().name();
  call->context.TryCancel();
  grpc::Status status;
  call->Rest(&status);
  // A client comes back in time, and the sandbox stays.
  const auto again = Stream(name);
  EXPECT_TRUE(again->Next().has_opened());
  timers_.Advance(Viewers::kPatience);
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);

  again->context.TryCancel();
  again->Rest(&status);
  AdvanceUntilNoSandbox();
}

TEST_F(ExecutionServiceTest, ARunInAnExistingSandboxDoesNotDeleteIt) {
  corral::v1::RunExecutionRequest request;
  request.set_parent(CreateSandbox());
  *request.mutable_command() = Command();
  const auto call = Run(request);
  factory_.Exit(call->Next().opened().name(), 0);
  call->Rest();
  EXPECT_EQ(sandboxes_->registry().size(), 1);
  request.set_sandbox_id("other");
  grpc::Status status;
  Run(request)->Rest(&status);
  EXPECT_EQ(Field(status), "parent");
}

TEST_F(ExecutionServiceTest, ARunThatFailsLeavesNothing) {
  grpc::Status status;
  corral::v1::RunExecutionRequest request = RunInNewSandbox();
  request.mutable_command()->clear_argv();
  Run(request)->Rest(&status);
  EXPECT_EQ(Field(status), "command.argv");
  request = RunInNewSandbox();
  request.mutable_sandbox()->mutable_limits()->set_memory_bytes(0);
  Run(request)->Rest(&status);
  EXPECT_EQ(Field(status), "sandbox.limits.memory_bytes");
  request = RunInNewSandbox();
  request.mutable_sandbox()->mutable_limits()->set_pids(kMaxPids + 1);
  Run(request)->Rest(&status);
  EXPECT_EQ(Field(status), "sandbox.limits.pids");
  request = RunInNewSandbox();
  request.set_parent("tenants/other");
  Run(request)->Rest(&status);
  EXPECT_EQ(Field(status), "parent");
  factory_.FailCreations(sandbox::MakeFailure(sandbox::wire::Reply::ISOLATION,
                                              "no user namespaces"));
  Run(RunInNewSandbox())->Rest(&status);
  EXPECT_EQ(Reason(status), "ISOLATION_UNAVAILABLE");
  AwaitNoSandbox();
}

// No sandbox takes a command.
class NoExecutionsTest : public ServerFixture {
 protected:
  NoExecutionsTest() : ServerFixture(kMaxSandboxes, /*max_executions=*/0) {}
};

TEST_F(NoExecutionsTest, ARunWhoseCommandIsRefusedDeletesItsSandbox) {
  corral::v1::RunExecutionRequest request;
  request.set_parent("tenants/default");
  *request.mutable_command() = Command();
  grpc::Status status;
  Run(request)->Rest(&status);
  EXPECT_EQ(Reason(status), "TOO_MANY_EXECUTIONS");
  // The start of the sandbox ends after its deletion was asked for.
  activity_->AwaitNoStart(absl::Hours(1));
  for (const auto& sandbox : sandboxes_->registry().List("", 1)) {
    EXPECT_EQ(sandbox->Describe().state(), corral::v1::Sandbox::DELETING);
  }
}

TEST_F(ExecutionServiceTest, ReportsWhyASupervisorRefusesAStart) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(CreateSandbox("box"));
  *request.mutable_command() = Command();
  corral::v1::Execution response;
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.RefuseStarts(sandbox::MakeFailure(
        sandbox::wire::Reply::SANDBOX_NOT_READY, "not ready"));
  });
  grpc::Status status = Start(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.RefuseStarts(sandbox::MakeFailure(
        sandbox::wire::Reply::EXECUTION_EXISTS, "it exists"));
  });
  status = Start(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(Reason(status), "EXECUTION_EXISTS");
}

TEST_F(ExecutionServiceTest, ADeletionWaitsForTheCauseOfALoss) {
  const std::string sandbox = CreateSandbox("box");
  const std::string name = StartExecution(sandbox, Command());
  const std::string other = StartExecution(sandbox, Command());
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.RefuseDeletions(
        sandbox::MakeFailure(sandbox::wire::Reply::SUPERVISOR_GONE, "gone"));
  });
  std::promise<absl::Status> deleted;
  sandboxes_->registry().Find("box")->DeleteExecution(
      name.substr(name.rfind('/') + 1),
      [&](const absl::Status& status) { deleted.set_value(status); });
  AwaitRecordsLane();
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::INIT_DIED, "init died");
  });
  EXPECT_TRUE(deleted.get_future().get().ok());
  const corral::v1::Loss loss = Wait(other).loss();
  EXPECT_EQ(loss.cause(), corral::v1::Loss::SANDBOX_FAILED);
  EXPECT_EQ(loss.message(), "init died");
}

}  // namespace
}  // namespace server
