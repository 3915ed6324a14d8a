// A server that cannot read the records that an earlier server wrote.

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/storage/record_file.h"
#include "server/core/recovery.h"
#include "server/core/sandboxes.h"
#include "server/core/state_directory.h"
#include "server/rpc/recovery_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::tests::FakeSupervisor;

class RecoveryRecordsTest : public RecoveryFixture {};

TEST_F(RecoveryRecordsTest, KeepsASandboxWhoseDescriptionCannotBeRead) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  // No file can be read from a directory.
  std::filesystem::rename(Box("spec.pb"), Box("aside"));
  std::filesystem::create_directory(Box("spec.pb"));
  Restart();
  EXPECT_EQ(sandboxes_->registry().size(), 0);
  corral::v1::CreateSandboxRequest request;
  request.set_parent("tenants/default");
  request.set_sandbox_id("box");
  corral::v1::Sandbox response;
  const grpc::Status status = Call(
      sandbox_stub_.get(), &SandboxStub::CreateSandbox, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
  EXPECT_EQ(sandboxes_->registry().size(), 0);
  Restore("spec.pb");
  timers_.Advance(absl::Seconds(1));
  while (sandboxes_->registry().Find("box") == nullptr) {
    std::this_thread::yield();
  }
  AwaitBox();
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
}

TEST_F(RecoveryRecordsTest, KeepsASandboxWhoseDescriptionIsTorn) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  const std::string whole =
      sandbox::SealRecord(state_->ReadSpec("box").value());
  std::ofstream(Box("spec.pb"), std::ios::binary) << whole.substr(1);
  Restart();
  EXPECT_EQ(sandboxes_->registry().size(), 0);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_TRUE(supervisor.alive());
  });
  std::ofstream(Box("spec.pb"), std::ios::binary) << whole;
  Restart();
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
}

TEST_F(RecoveryRecordsTest, DoesNotStartWhenSandboxesCannotBeListed) {
  const std::string sandboxes = absl::StrCat(path_, "/sandboxes");
  std::filesystem::rename(sandboxes, absl::StrCat(path_, "/aside"));
  EXPECT_FALSE(sandboxes_->Recover().ok());
  std::filesystem::rename(absl::StrCat(path_, "/aside"), sandboxes);
}

TEST_F(RecoveryRecordsTest, ForgetsNoExecutionThatCannotBeListedYet) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  factory_.Exit(name, 4);
  KillSupervisor();
  Obstruct("executions");
  Restart();
  corral::v1::GetExecutionRequest request;
  request.set_name(name);
  corral::v1::Execution response;
  const grpc::Status status = Call(
      execution_stub_.get(), &ExecutionStub::GetExecution, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
  Restore("executions");
  timers_.Advance(Recovery::kReadRetry);
  AwaitLanes();
  EXPECT_EQ(Get(name).exit().code(), 4);
}

TEST_F(RecoveryRecordsTest, StartsNoCommandTwiceWhoseRecordCannotBeRead) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(CreateSandbox("box"));
  request.set_execution_id("job");
  request.set_request_id("r-1");
  *request.mutable_command() = Command();
  request.mutable_command()->mutable_terminal()->set_rows(24);
  request.mutable_command()->mutable_terminal()->set_columns(80);
  const auto start = [&] {
    corral::v1::Execution response;
    const grpc::Status status =
        Call(execution_stub_.get(), &ExecutionStub::StartExecution, request,
             &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  };
  const std::string name = start().name();
  Obstruct("executions/job");
  Restart();
  for (int attempt = 1; attempt < Recovery::kReadAttempts; ++attempt) {
    EXPECT_EQ(GetBox("box").state(), corral::v1::Sandbox::CREATING);
    timers_.AwaitTimers(1);
    timers_.Advance(Recovery::kReadRetry);
  }
  AwaitBox();
  EXPECT_EQ(start().name(), name);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_EQ(supervisor.starts(), 1);
  });
  Restore("executions/job");
  factory_.Write(name, wire::TERMINAL, "seen");
  factory_.Exit(name, 3);
  EXPECT_EQ(BytesOf(Stream(name)->Rest(), corral::v1::TERMINAL), "seen");
  EXPECT_EQ(Wait(name).exit().code(), 3);
}

TEST_F(RecoveryRecordsTest, ReportsNoLossBeforeTheDiskCanBeRead) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  KillSupervisorUnnoticed(name);
  timers_.AwaitTimers(1);
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
  Restore("executions");
  timers_.Advance(Recovery::kReadRetry);
  EXPECT_EQ(Wait(name).exit().code(), 7);
}

TEST_F(RecoveryRecordsTest, GivesUpRecordsThatCannotBeRead) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  KillSupervisorUnnoticed(name);
  for (int attempt = 1; attempt < Recovery::kReadAttempts; ++attempt) {
    timers_.AwaitTimers(1);
    timers_.Advance(Recovery::kReadRetry);
  }
  EXPECT_EQ(Wait(name).state(), corral::v1::Execution::LOST);
  Restore("executions");
}

}  // namespace
}  // namespace server
