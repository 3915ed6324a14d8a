// What a server finds that another left behind.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/execution.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/sandbox.h"
#include "server/conversion.h"
#include "server/server_fixture.h"
#include "server/session.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::tests::FakeSupervisor;

class RecoveryTest : public ServerFixture {
 protected:
  corral::v1::Sandbox GetBox(const std::string& id) {
    corral::v1::GetSandboxRequest request;
    request.set_name(absl::StrCat("tenants/default/sandboxes/", id));
    corral::v1::Sandbox response;
    Call(sandbox_stub_.get(), &SandboxStub::GetSandbox, request, &response);
    return response;
  }
};

TEST_F(RecoveryTest, LosesNoByteAndNoExitStatus) {
  const std::string sandbox = CreateSandbox("box");
  const std::string name = StartExecution(sandbox, Command({"make", "all"}));
  const std::string ended = StartExecution(sandbox, Command());
  factory_.Write(name, wire::STDOUT, "before ");
  factory_.Exit(ended, 4);
  Restart();
  EXPECT_EQ(GetBox("box").state(), corral::v1::Sandbox::READY);
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
  EXPECT_EQ(Get(name).command().argv(1), "all");
  EXPECT_EQ(Get(ended).exit().code(), 4);
  const auto stream = Stream(name);
  EXPECT_TRUE(stream->Next().has_opened());
  factory_.Write(name, wire::STDOUT, "after");
  factory_.Exit(name, 3);
  const Events rest = stream->Rest();
  EXPECT_EQ(BytesOf(rest, corral::v1::STDOUT), "before after");
  EXPECT_EQ(rest.back().ended().exit().code(), 3);
  StartExecution(sandbox, Command());
}

TEST_F(RecoveryTest, AnswersForTheExecutionsOfADeadSupervisor) {
  const std::string sandbox = CreateSandbox("box");
  const std::string running = StartExecution(sandbox, Command());
  const std::string ended = StartExecution(sandbox, Command());
  factory_.Write(running, wire::STDOUT, "kept");
  factory_.Exit(ended, 4);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Connect(nullptr);
    supervisor.Die(absl::UnavailableError("power"));
  });
  const std::string torn =
      absl::StrCat(path_, "/sandboxes/box/executions/torn");
  std::filesystem::create_directories(torn);
  std::ofstream(absl::StrCat(torn, "/start.pb")) << "\xff\xff";
  Restart();
  EXPECT_EQ(GetBox("box").state(), corral::v1::Sandbox::FAILED);
  EXPECT_EQ(Get(running).state(), corral::v1::Execution::LOST);
  EXPECT_EQ(Get(ended).state(), corral::v1::Execution::EXITED);
  EXPECT_EQ(Get(ended).exit().code(), 4);
  EXPECT_EQ(BytesOf(Stream(running)->Rest(), corral::v1::STDOUT), "kept");
  EXPECT_EQ(sandboxes_->registry().Find("box")->execution_count(), 2);
}

TEST_F(RecoveryTest, KnowsACommandThatIsStartedWhileItTakesOver) {
  const std::string sandbox = CreateSandbox("box");
  const std::string early = StartExecution(sandbox, Command());
  // The request of the server before was still on its way.
  factory_.OnAdoption([](FakeSupervisor& supervisor) {
    wire::StartExecution start;
    start.set_id("late");
    *start.mutable_command() = ToCommandSpec(Command({"make", "late"}), "");
    EXPECT_TRUE(supervisor.Start(start).ok());
  });
  Restart();
  const std::string late = absl::StrCat(sandbox, "/executions/late");
  EXPECT_EQ(Get(early).state(), corral::v1::Execution::RUNNING);
  EXPECT_EQ(Get(late).state(), corral::v1::Execution::RUNNING);
  EXPECT_EQ(Get(late).command().argv(1), "late");
  factory_.Exit(late, 5);
  EXPECT_EQ(Wait(late).exit().code(), 5);
}

TEST_F(RecoveryTest, RemovesASandboxThatWasNeverMade) {
  const std::string directory = absl::StrCat(path_, "/sandboxes/torn");
  std::filesystem::create_directories(directory);
  Restart();
  EXPECT_FALSE(std::filesystem::exists(directory));
  EXPECT_EQ(sandboxes_->registry().size(), 0);
}

TEST_F(RecoveryTest, ASandboxMadeForOneCommandIsStillDeletedUnwatched) {
  corral::v1::RunExecutionRequest request;
  request.set_parent("tenants/default");
  *request.mutable_command() = Command();
  auto call = Run(request);
  const std::string name = call->Next().opened().name();
  call->context.TryCancel();
  grpc::Status status;
  call->Rest(&status);
  Restart();
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
  timers_.Advance(Session::kUnwatchedLifetime);
  AwaitNoSandbox();
}

}  // namespace
}  // namespace server
