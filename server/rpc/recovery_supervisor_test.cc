// Calls to a sandbox of an earlier server while the new server has not found
// the supervisor again.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/storage/record_file.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes.h"
#include "server/core/state_directory.h"
#include "server/rpc/recovery_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::tests::FakeSupervisor;

class RecoverySupervisorTest : public RecoveryFixture {};

TEST_F(RecoverySupervisorTest,
       TreatsNoSupervisorAsDeadThatCannotBeConnectedTo) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  factory_.FailAdoptions(absl::ResourceExhaustedError("open files"));
  Restart();
  EXPECT_EQ(GetBox("box").state(), corral::v1::Sandbox::CREATING);
  timers_.Advance(absl::Seconds(1));
  timers_.AwaitTimers(1);
  EXPECT_EQ(GetBox("box").state(), corral::v1::Sandbox::CREATING);
  EXPECT_FALSE(StateDirectory::ReadFailure(Box("")).has_value());
  factory_.FailAdoptions(absl::OkStatus());
  timers_.Advance(absl::Seconds(1));
  StartExecution("tenants/default/sandboxes/box", Command());
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
  factory_.Exit(name, 3);
  EXPECT_EQ(Wait(name).exit().code(), 3);
}

TEST_F(RecoverySupervisorTest, RefusesCallsWhoseSupervisorIsNotFoundInTime) {
  const std::string name = StartOnTerminal();
  factory_.FailAdoptions(absl::ResourceExhaustedError("open files"));
  Restart();
  for (const auto& call : CallsOfTheSupervisor(name)) {
    grpc::Status status;
    std::thread caller([&] { status = call(); });
    timers_.AwaitTimers(2);  // the next attempt to connect, and the call's
    timers_.Advance(Sandbox::kKnownPatience);
    caller.join();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
  }
  timers_.AwaitTimers(1);
  factory_.FailAdoptions(absl::OkStatus());
  timers_.Advance(absl::Seconds(1));
  factory_.Exit(name, 3);
  EXPECT_EQ(Wait(name).exit().code(), 3);
  EXPECT_EQ(sandboxes_->registry().Find("box")->execution_count(), 1);
}

TEST_F(RecoverySupervisorTest, ServesCallsThatWaitedForTheSupervisor) {
  const std::string name = StartOnTerminal();
  factory_.FailAdoptions(absl::ResourceExhaustedError("open files"));
  Restart();
  std::vector<std::thread> callers;
  // All but the deletion, which would spoil the others.
  auto calls = CallsOfTheSupervisor(name);
  calls.pop_back();
  callers.reserve(calls.size());
  for (const auto& call : calls) {
    callers.emplace_back([call] {
      const grpc::Status status = call();
      EXPECT_TRUE(status.ok()) << status.error_message();
    });
  }
  timers_.AwaitTimers(1 + callers.size());
  factory_.FailAdoptions(absl::OkStatus());
  timers_.Advance(absl::Seconds(1));
  for (std::thread& caller : callers) {
    caller.join();
  }
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_EQ(supervisor.last_signal().signal(), SIGTERM);
    EXPECT_EQ(supervisor.last_resize().rows(), 1);
    EXPECT_EQ(supervisor.last_acknowledge().stream(), wire::TERMINAL);
  });
  EXPECT_EQ(Get(name).input().accepted_offset(), 1);
  EXPECT_FALSE(Get(name).input().closed());
}

TEST_F(RecoverySupervisorTest, AnswersARepeatedCreationInTime) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent("tenants/default");
  request.set_sandbox_id("box");
  request.set_request_id("r-1");
  const auto create = [&] {
    corral::v1::Sandbox response;
    return Call(sandbox_stub_.get(), &SandboxStub::CreateSandbox, request,
                &response);
  };
  ASSERT_TRUE(create().ok());
  factory_.FailAdoptions(absl::ResourceExhaustedError("open files"));
  Restart();
  grpc::Status status;
  std::thread caller([&] { status = create(); });
  timers_.AwaitTimers(2);  // the next attempt to connect, and the call's
  timers_.Advance(Sandbox::kKnownPatience);
  caller.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
  timers_.AwaitTimers(1);
  factory_.FailAdoptions(absl::OkStatus());
  timers_.Advance(absl::Seconds(1));
  EXPECT_TRUE(create().ok());
}

TEST_F(RecoverySupervisorTest, ReportsNoLossOfAStartThatADeletionOvertook) {
  const std::string name = CreateSandbox("box");
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.RefuseStarts(
        sandbox::MakeFailure(wire::Reply::SUPERVISOR_GONE, "gone"));
  });
  std::promise<absl::Status> started;
  sandboxes_->registry().Find("box")->Start(
      {"job", Command(), {}},
      [&](const auto& execution) { started.set_value(execution.status()); });
  wire::ExecutionRecord record;
  record.set_id("job");
  std::filesystem::create_directories(Box("executions/job"));
  std::ofstream(Box("executions/job/start.pb"), std::ios::binary)
      << sandbox::SealRecord(record);
  corral::v1::DeleteSandboxRequest request;
  request.set_name(name);
  google::protobuf::Empty response;
  EXPECT_TRUE(
      Call(sandbox_stub_.get(), &SandboxStub::DeleteSandbox, request, &response)
          .ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(started.get_future().get()));
}

TEST_F(RecoverySupervisorTest, ReportsALossWhenTheSupervisorTurnsOutToBeDead) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  KillSupervisor();
  factory_.FailAdoptions(absl::ResourceExhaustedError("open files"));
  Restart();
  factory_.FailAdoptions(absl::OkStatus());
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(Wait(name).state(), corral::v1::Execution::LOST);
  EXPECT_EQ(GetBox("box").state(), corral::v1::Sandbox::FAILED);
}

}  // namespace
}  // namespace server
