// Recovery of what an earlier server left: executions, failures and
// deletions.

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/storage/record_file.h"
#include "server/api/conversion.h"
#include "server/api/names.h"
#include "server/core/sandboxes.h"
#include "server/core/state_directory.h"
#include "server/core/viewers.h"
#include "server/rpc/recovery_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::tests::FakeSupervisor;

class RecoveryTest : public RecoveryFixture {
 protected:
  // Begins to delete "box". The supervisor gets the request only from the next
  // server.
  void BeginDeletion() {
    factory_.With("box", [](FakeSupervisor& supervisor) {
      supervisor.IgnoreDeletions(true);
    });
    sandboxes_->registry().Find("box")->Delete(
        wire::ExitRecord::SANDBOX_EXPIRED, [](const absl::Status&) {});
    lanes_->kills.AwaitIdle();
    factory_.With("box", [](FakeSupervisor& supervisor) {
      supervisor.IgnoreDeletions(false);
    });
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

TEST_F(RecoveryTest, ReportsTheExecutionsOfADeadSupervisor) {
  const std::string sandbox = CreateSandbox("box");
  const std::string running = StartExecution(sandbox, Command());
  const std::string ended = StartExecution(sandbox, Command());
  factory_.Write(running, wire::STDOUT, "kept");
  factory_.Exit(ended, 4);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Connect(nullptr);
    supervisor.Die(wire::SandboxEnd::SUPERVISOR_DIED, "power");
  });
  const std::string torn =
      absl::StrCat(path_, "/sandboxes/box/executions/torn");
  std::filesystem::create_directories(torn);
  std::ofstream(absl::StrCat(torn, "/start.pb")) << "\xff\xff";
  Restart();
  EXPECT_EQ(GetBox("box").state(), corral::v1::Sandbox::FAILED);
  EXPECT_THAT(GetBox("box").failure().message(),
              ::testing::StartsWith("the supervisor died: "));
  EXPECT_EQ(Get(running).state(), corral::v1::Execution::LOST);
  EXPECT_EQ(Get(ended).state(), corral::v1::Execution::EXITED);
  EXPECT_EQ(Get(ended).exit().code(), 4);
  EXPECT_EQ(BytesOf(Stream(running)->Rest(), corral::v1::STDOUT), "kept");
  EXPECT_EQ(sandboxes_->registry().Find("box")->execution_count(), 2);
}

TEST_F(RecoveryTest, KnowsACommandThatStartsDuringTheTakeOver) {
  const std::string sandbox = CreateSandbox("box");
  const std::string early = StartExecution(sandbox, Command());
  // The request of the earlier server was still on its way.
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

TEST_F(RecoveryTest, DeletesAOneCommandSandboxThatNobodyWatches) {
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
  timers_.Advance(Viewers::kPatience);
  const std::string id = ExecutionName::Parse("name", name)->sandbox().id();
  ASSERT_NE(GetBox(id).state(), corral::v1::Sandbox::READY);
  AwaitNoSandbox();
}

TEST_F(RecoveryTest, ReportsThatTheHostWentDown) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  factory_.Write(name, wire::STDOUT, "kept");
  KillSupervisor();
  wire::SandboxSpec spec = state_->ReadSpec("box").value();
  spec.set_boot_id("another");
  std::ofstream(Box("spec.pb"), std::ios::binary) << sandbox::SealRecord(spec);
  Restart();
  EXPECT_EQ(GetBox("box").state(), corral::v1::Sandbox::FAILED);
  const corral::v1::Execution lost = Get(name);
  EXPECT_EQ(lost.state(), corral::v1::Execution::LOST);
  EXPECT_EQ(lost.loss().cause(), corral::v1::Loss::HOST_RESTARTED);
  EXPECT_EQ(lost.loss().message(), "the host went down");
  EXPECT_TRUE(lost.streams(0).closed());
  EXPECT_EQ(BytesOf(Stream(name)->Rest(), corral::v1::STDOUT), "kept");
}

TEST_F(RecoveryTest, RemembersHowASandboxFailed) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(wire::SandboxEnd::INIT_DIED, "init died");
  });
  EXPECT_EQ(Wait(name).loss().cause(), corral::v1::Loss::SANDBOX_FAILED);
  Restart();
  EXPECT_EQ(GetBox("box").failure().message(), "init died");
  EXPECT_EQ(Get(name).loss().cause(), corral::v1::Loss::SANDBOX_FAILED);
  EXPECT_EQ(Get(name).loss().message(), "init died");
}

TEST_F(RecoveryTest, CompletesADeletionOfASandboxThatLives) {
  StartExecution(CreateSandbox("box"), Command());
  BeginDeletion();
  Restart();
  AwaitNoSandbox();
  EXPECT_FALSE(std::filesystem::exists(Box("")));
}

TEST_F(RecoveryTest, CompletesADeletionOfASandboxThatIsDead) {
  StartExecution(CreateSandbox("box"), Command());
  BeginDeletion();
  KillSupervisor();
  Restart();
  AwaitNoSandbox();
  EXPECT_FALSE(std::filesystem::exists(Box("")));
}

TEST_F(RecoveryTest, DeletesASandboxWhoseCreationWasNeverAnswered) {
  CreateSandbox("box");
  factory_.With("box",
                [](FakeSupervisor& supervisor) { supervisor.BeUnready(); });
  Restart();
  AwaitNoSandbox();
  EXPECT_FALSE(std::filesystem::exists(Box("")));
}

TEST_F(RecoveryTest, RemovesLeftoversOfDeletions) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  const std::string execution = Box("executions/.removed-job");
  const std::string sandbox = absl::StrCat(path_, "/sandboxes/.removed-other");
  for (const std::string& path : {execution, sandbox}) {
    std::filesystem::create_directories(path);
    std::ofstream(absl::StrCat(path, "/file")) << "x";
  }
  Restart();
  EXPECT_FALSE(std::filesystem::exists(execution));
  EXPECT_FALSE(std::filesystem::exists(sandbox));
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
}

TEST_F(RecoveryTest, RemovesASandboxThatWasNeverMade) {
  const std::string directory = absl::StrCat(path_, "/sandboxes/torn");
  std::filesystem::create_directories(directory);
  Restart();
  EXPECT_FALSE(std::filesystem::exists(directory));
  EXPECT_EQ(sandboxes_->registry().size(), 0);
}

TEST_F(RecoveryTest, RemovesASandboxWhoseSupervisorNeverBegan) {
  wire::SandboxSpec spec;
  spec.set_id("box");
  spec.set_name("tenants/default/sandboxes/box");
  spec.set_directory(state_->SandboxPath("box"));
  spec.set_boot_id(state_->boot_id());
  ASSERT_TRUE(state_->WriteSpec(spec).ok());
  Restart();
  EXPECT_FALSE(std::filesystem::exists(Box("")));
  CreateSandbox("box");
}

TEST_F(RecoveryTest, EndsTheSupervisorOfASandboxWhoseRemovalBegan) {
  // No id: its deletion had begun.
  Sandboxes::NewSandbox removed;
  removed.id = ".removed-box";
  std::promise<bool> made;
  sandboxes_->Create(
      removed, [&](const auto& sandbox) { made.set_value(sandbox.ok()); });
  ASSERT_TRUE(made.get_future().get());
  Restart();
  AwaitNoSandbox();
  factory_.With(".removed-box", [](FakeSupervisor& supervisor) {
    EXPECT_FALSE(supervisor.alive());
  });
  EXPECT_FALSE(
      std::filesystem::exists(absl::StrCat(path_, "/sandboxes/.removed-box")));
}

TEST_F(RecoveryTest, RemovesAFileThatIsNoSandbox) {
  const std::string file = absl::StrCat(path_, "/sandboxes/.removed-file");
  std::ofstream(file) << "x";
  Restart();
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(RecoveryTest, RetriesARemovalThatFails) {
  corral::v1::DeleteSandboxRequest request;
  request.set_name(CreateSandbox("box"));
  // No directory can be renamed to a file.
  const std::string obstacle = absl::StrCat(path_, "/sandboxes/.removed-box");
  std::ofstream(obstacle) << "x";
  google::protobuf::Empty response;
  grpc::Status status;
  std::thread deletion([&] {
    status = Call(sandbox_stub_.get(), &SandboxStub::DeleteSandbox, request,
                  &response);
  });
  timers_.AwaitTimers(1);
  EXPECT_EQ(GetBox("box").state(), corral::v1::Sandbox::DELETING);
  std::filesystem::remove(obstacle);
  timers_.Advance(absl::Minutes(1));
  deletion.join();
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(std::filesystem::exists(Box("")));
}

TEST_F(RecoveryTest, FindsASandboxWhoseStateDirectoryWasMoved) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  wire::SandboxSpec spec = state_->ReadSpec("box").value();
  spec.set_directory("/elsewhere/sandboxes/box");
  std::ofstream(Box("spec.pb"), std::ios::binary) << sandbox::SealRecord(spec);
  Restart();
  EXPECT_EQ(GetBox("box").state(), corral::v1::Sandbox::READY);
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
}

}  // namespace
}  // namespace server
