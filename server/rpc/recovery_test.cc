// What a server finds that another left behind.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

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
#include "sandbox/storage/record_file.h"
#include "server/api/conversion.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes.h"
#include "server/core/state_directory.h"
#include "server/rpc/server_fixture.h"
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

  // Below the directory of the sandbox "box".
  std::string Box(const std::string& name) const {
    return absl::StrCat(path_, "/sandboxes/box", name.empty() ? "" : "/", name);
  }

  // In the sandbox "box".
  std::string StartOnTerminal() {
    corral::v1::Command command = Command();
    command.mutable_terminal()->set_rows(24);
    command.mutable_terminal()->set_columns(80);
    return StartExecution(CreateSandbox("box"), command);
  }

  template <typename Request, typename Response>
  std::function<grpc::Status()> Later(
      grpc::Status (ExecutionStub::*method)(grpc::ClientContext*,
                                            const Request&, Response*),
      const Request& request) {
    return [this, method, request] {
      Response response;
      return Call(execution_stub_.get(), method, request, &response);
    };
  }

  // All that take the supervisor; the last one deletes the execution.
  std::vector<std::function<grpc::Status()>> CallsOfTheSupervisor(
      const std::string& name) {
    corral::v1::WriteInputRequest input;
    input.set_name(name);
    input.set_data("x");
    input.set_offset(0);
    corral::v1::SignalExecutionRequest signal;
    signal.set_name(name);
    signal.set_signal(SIGTERM);
    corral::v1::ResizeTerminalRequest resize;
    resize.set_name(name);
    resize.mutable_size()->set_rows(1);
    resize.mutable_size()->set_columns(1);
    corral::v1::AcknowledgeOutputRequest acknowledge;
    acknowledge.set_name(name);
    acknowledge.add_cursors()->set_stream(corral::v1::TERMINAL);
    corral::v1::StartExecutionRequest start;
    start.set_parent("tenants/default/sandboxes/box");
    *start.mutable_command() = Command();
    corral::v1::DeleteExecutionRequest deletion;
    deletion.set_name(name);
    return {Later(&ExecutionStub::WriteInput, input),
            Later(&ExecutionStub::SignalExecution, signal),
            Later(&ExecutionStub::ResizeTerminal, resize),
            Later(&ExecutionStub::AcknowledgeOutput, acknowledge),
            Later(&ExecutionStub::StartExecution, start),
            Later(&ExecutionStub::DeleteExecution, deletion)};
  }

  // What is in "box" under `name` cannot be read, until Restore.
  void Obstruct(const std::string& name) {
    std::filesystem::rename(Box(name), Box("aside"));
    if (std::filesystem::is_directory(Box("aside"))) {
      std::ofstream(Box(name)) << "x";
    } else {
      std::filesystem::create_directory(Box(name));
    }
  }
  void Restore(const std::string& name) {
    std::filesystem::remove(Box(name));
    std::filesystem::rename(Box("aside"), Box(name));
  }

  // Until it is known what "box" and its executions are.
  void AwaitBox() {
    std::promise<void> known;
    sandboxes_->registry().Find("box")->AwaitReady(
        [&](const absl::Status&) { known.set_value(); });
    known.get_future().wait();
  }

  // Its command has exited with 7 as it dies, which only a disk that cannot be
  // read knows.
  void KillSupervisorUnnoticed(const std::string& name) {
    factory_.With("box", [&](FakeSupervisor& supervisor) {
      supervisor.Connect(nullptr);
      supervisor.End(name.substr(name.rfind('/') + 1), 7 << 8,
                     wire::ExitRecord::NORMAL);
      Obstruct("executions");
      supervisor.Connect(sandboxes_->registry().Find("box").get());
      supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "killed");
    });
  }

  // While no server is there to see it.
  void KillSupervisor() {
    factory_.With("box", [](FakeSupervisor& supervisor) {
      supervisor.Connect(nullptr);
      supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "killed");
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

TEST_F(RecoveryTest, AnswersForTheExecutionsOfADeadSupervisor) {
  const std::string sandbox = CreateSandbox("box");
  const std::string running = StartExecution(sandbox, Command());
  const std::string ended = StartExecution(sandbox, Command());
  factory_.Write(running, wire::STDOUT, "kept");
  factory_.Exit(ended, 4);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Connect(nullptr);
    supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "power");
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
  timers_.Advance(Sandbox::kUnwatchedLifetime);
  AwaitNoSandbox();
}

TEST_F(RecoveryTest, SaysThatTheHostWentDown) {
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
  EXPECT_TRUE(lost.streams(0).closed());
  EXPECT_EQ(BytesOf(Stream(name)->Rest(), corral::v1::STDOUT), "kept");
}

TEST_F(RecoveryTest, RemembersHowASandboxFailed) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::INIT_DIED, "init died");
  });
  EXPECT_EQ(Wait(name).loss().cause(), corral::v1::Loss::SANDBOX_FAILED);
  Restart();
  EXPECT_EQ(GetBox("box").failure().message(), "init died");
  EXPECT_EQ(Get(name).loss().cause(), corral::v1::Loss::SANDBOX_FAILED);
  EXPECT_EQ(Get(name).loss().message(), "init died");
}

TEST_F(RecoveryTest, GoesOnWithADeletionOfASandboxThatLives) {
  StartExecution(CreateSandbox("box"), Command());
  wire::DeleteSandbox deletion;
  deletion.set_cause(wire::ExitRecord::SANDBOX_EXPIRED);
  ASSERT_TRUE(StateDirectory::WriteDeletion(Box(""), deletion).ok());
  Restart();
  AwaitNoSandbox();
  EXPECT_FALSE(std::filesystem::exists(Box("")));
}

TEST_F(RecoveryTest, GoesOnWithADeletionOfASandboxThatIsDead) {
  StartExecution(CreateSandbox("box"), Command());
  KillSupervisor();
  ASSERT_TRUE(
      StateDirectory::WriteDeletion(Box(""), wire::DeleteSandbox()).ok());
  Restart();
  AwaitNoSandbox();
  EXPECT_FALSE(std::filesystem::exists(Box("")));
}

TEST_F(RecoveryTest, RemovesWhatIsLeftOfDeletions) {
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

TEST_F(RecoveryTest, EndsTheSupervisorOfWhatIsToBeRemoved) {
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

TEST_F(RecoveryTest, KeepsASandboxWhoseDescriptionItCannotRead) {
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
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(Reason(status), "SANDBOX_EXISTS");
  EXPECT_EQ(sandboxes_->registry().size(), 0);
  AwaitNoSandbox();
  Restore("spec.pb");
  timers_.Advance(absl::Seconds(1));
  while (sandboxes_->registry().Find("box") == nullptr) {
    std::this_thread::yield();
  }
  AwaitBox();
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
}

TEST_F(RecoveryTest, DoesNotBeginWithSandboxesThatItCannotList) {
  const std::string sandboxes = absl::StrCat(path_, "/sandboxes");
  std::filesystem::rename(sandboxes, absl::StrCat(path_, "/aside"));
  EXPECT_FALSE(sandboxes_->Recover().ok());
  std::filesystem::rename(absl::StrCat(path_, "/aside"), sandboxes);
}

TEST_F(RecoveryTest, TakesNobodyForDeadWhoCannotBeConnectedTo) {
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

TEST_F(RecoveryTest, RefusesForAWhileWhatItsSupervisorMustAnswer) {
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

TEST_F(RecoveryTest, ServesWhoHasWaitedForTheSupervisor) {
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

TEST_F(RecoveryTest, ARepeatedCreationDoesNotWaitForEver) {
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

TEST_F(RecoveryTest, AStartThatADeletionMeetsIsNoLoss) {
  const std::string name = CreateSandbox("box");
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.RefuseStarts(
        sandbox::MakeFailure(sandbox::wire::Reply::SUPERVISOR_GONE, "gone"));
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

TEST_F(RecoveryTest, LearnsLaterThatASupervisorIsDead) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  KillSupervisor();
  factory_.FailAdoptions(absl::ResourceExhaustedError("open files"));
  Restart();
  factory_.FailAdoptions(absl::OkStatus());
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(Wait(name).state(), corral::v1::Execution::LOST);
  EXPECT_EQ(GetBox("box").state(), corral::v1::Sandbox::FAILED);
}

TEST_F(RecoveryTest, KeepsASandboxWhoseDescriptionIsTorn) {
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

TEST_F(RecoveryTest, ForgetsNoExecutionThatItCannotListYet) {
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
  timers_.Advance(Sandbox::kReadRetry);
  AwaitBox();
  EXPECT_EQ(Get(name).exit().code(), 4);
}

TEST_F(RecoveryTest, StartsNoCommandTwiceWhoseRecordCannotBeRead) {
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
  Obstruct("executions/job/start.pb");
  Restart();
  for (int attempt = 1; attempt < Sandbox::kReadAttempts; ++attempt) {
    EXPECT_EQ(GetBox("box").state(), corral::v1::Sandbox::CREATING);
    timers_.AwaitTimers(1);
    timers_.Advance(Sandbox::kReadRetry);
  }
  AwaitBox();
  EXPECT_EQ(start().name(), name);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_EQ(supervisor.starts(), 1);
  });
  factory_.Write(name, wire::TERMINAL, "seen");
  factory_.Exit(name, 3);
  EXPECT_EQ(BytesOf(Stream(name)->Rest(), corral::v1::TERMINAL), "seen");
  EXPECT_EQ(Wait(name).exit().code(), 3);
  Restore("executions/job/start.pb");
}

TEST_F(RecoveryTest, TellsNoLossBeforeTheDiskCanBeRead) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  KillSupervisorUnnoticed(name);
  timers_.AwaitTimers(1);
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
  Restore("executions");
  timers_.Advance(Sandbox::kReadRetry);
  EXPECT_EQ(Wait(name).exit().code(), 7);
}

TEST_F(RecoveryTest, DoesNotWaitForEverForADiskThatCannotBeRead) {
  const std::string name = StartExecution(CreateSandbox("box"), Command());
  KillSupervisorUnnoticed(name);
  for (int attempt = 1; attempt < Sandbox::kReadAttempts; ++attempt) {
    timers_.AwaitTimers(1);
    timers_.Advance(Sandbox::kReadRetry);
  }
  EXPECT_EQ(Wait(name).state(), corral::v1::Execution::LOST);
  Restore("executions");
}

TEST_F(RecoveryTest, TriesARemovalThatFailsAgain) {
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

}  // namespace
}  // namespace server
