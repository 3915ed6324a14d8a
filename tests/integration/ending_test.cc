// How commands end, or do not begin, and what is told of it.

#include <signal.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"

namespace tests {
namespace {

using ::corral::v1::Command;
using ::corral::v1::Execution;
using ::corral::v1::ExitStatus;
using ::corral::v1::SignalExecutionRequest;
using ::corral::v1::StartFailure;
using ::corral::v1::STDOUT;
using ExecutionStub = Client::ExecutionStub;

class EndingTest : public IntegrationTest {
 protected:
  // Starts it in a new sandbox and waits for the line "ready".
  std::string StartReady(const std::string& script) {
    std::string name = client_->Start(CreateSandbox(), Shell(script)).name();
    client_->Stream(name)->ReadUntil(STDOUT, "ready\n");
    return name;
  }

  void ExpectStartFailure(const Command& command, StartFailure::Stage stage,
                          int error) {
    const Execution execution = client_->Start(CreateSandbox(), command);
    EXPECT_EQ(execution.state(), Execution::FAILED_TO_START);
    EXPECT_EQ(execution.start_failure().stage(), stage);
    EXPECT_EQ(execution.start_failure().errno_value(), error);
    EXPECT_NE(execution.start_failure().message(), "");
    EXPECT_EQ(client_->Wait(execution.name()).state(),
              Execution::FAILED_TO_START);
  }
};

constexpr char kHoldingDescendant[] = "sleep 1000 & echo ready; wait";

TEST_F(EndingTest, IsToldToThoseWhoWaitBeforeAndAfter) {
  const std::string name =
      client_->Start(CreateSandbox(), Shell("read x; exit 42")).name();
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  request.mutable_timeout()->set_nanos(50'000'000);
  Execution execution;
  EXPECT_TRUE(
      client_->Call(&ExecutionStub::WaitExecution, request, &execution).ok());
  EXPECT_EQ(execution.state(), Execution::RUNNING);
  EXPECT_FALSE(execution.has_exit());

  client_->WriteInput(name, 0, "\n");
  for (int i = 0; i < 2; ++i) {
    execution = client_->Wait(name);
    EXPECT_EQ(execution.state(), Execution::EXITED);
    EXPECT_EQ(execution.exit().code(), 42);
    EXPECT_EQ(execution.exit().cause(), ExitStatus::NORMAL);
    EXPECT_TRUE(execution.has_usage());
  }
}

TEST_F(EndingTest, OfASignalToTheTreeLeavesNoDescendant) {
  const std::string name = StartReady(kHoldingDescendant);
  EXPECT_TRUE(client_->Signal(name, SIGKILL).ok());
  const Execution execution = client_->Wait(name);
  EXPECT_EQ(execution.exit().signal(), SIGKILL);
  EXPECT_EQ(execution.exit().cause(), ExitStatus::CLIENT_SIGNAL);
  EXPECT_FALSE(execution.exit().output_open());
  EXPECT_EQ(Reason(client_->Signal(name, SIGTERM)), "EXECUTION_ENDED");
}

TEST_F(EndingTest, OfASignalToTheLeaderLeavesItsDescendants) {
  const std::string name = StartReady(kHoldingDescendant);
  EXPECT_TRUE(
      client_->Signal(name, SIGTERM, SignalExecutionRequest::LEADER).ok());
  const Execution execution = client_->Wait(name);
  EXPECT_EQ(execution.exit().signal(), SIGTERM);
  EXPECT_TRUE(execution.exit().output_open());
  EXPECT_TRUE(client_->Signal(name, SIGTERM).ok());
}

TEST_F(EndingTest, ComesWithSigkillForThoseThatIgnoreTheSignal) {
  const std::string name =
      StartReady("trap '' TERM; echo ready; while :; do sleep 1; done");
  SignalExecutionRequest request;
  request.set_name(name);
  request.set_signal(SIGTERM);
  request.mutable_kill_after()->set_nanos(100'000'000);
  google::protobuf::Empty empty;
  EXPECT_TRUE(
      client_->Call(&ExecutionStub::SignalExecution, request, &empty).ok());
  const Execution execution = client_->Wait(name);
  EXPECT_EQ(execution.exit().signal(), SIGKILL);
  EXPECT_EQ(execution.exit().cause(), ExitStatus::CLIENT_SIGNAL);
}

TEST_F(EndingTest, ComesWithTheWallTimeout) {
  Command command = MakeCommand({"sleep", "1000"});
  command.mutable_wall_timeout()->set_nanos(100'000'000);
  const auto call = client_->Run(CreateSandbox(), command);
  EXPECT_EQ(call->ended.exit().signal(), SIGTERM);
  EXPECT_EQ(call->ended.exit().cause(), ExitStatus::WALL_TIMEOUT);
}

TEST_F(EndingTest, ComesWithTheMemoryLimit) {
  corral::v1::Limits limits;
  limits.set_memory_bytes(32 << 20);
  const auto call =
      client_->Run(CreateSandbox(limits), MakeCommand({"tail", "/dev/zero"}));
  EXPECT_EQ(call->ended.exit().signal(), SIGKILL);
  EXPECT_EQ(call->ended.exit().cause(), ExitStatus::OUT_OF_MEMORY);
  EXPECT_GE(call->ended.usage().oom_kills(), 1);
  EXPECT_LE(call->ended.usage().memory_peak_bytes(), 32 << 20);
}

TEST_F(EndingTest, NeverBeganForAMissingProgram) {
  ExpectStartFailure(MakeCommand({"/nonexistent/program"}), StartFailure::EXEC,
                     ENOENT);
  ExpectStartFailure(MakeCommand({"nonexistent-program"}), StartFailure::EXEC,
                     ENOENT);
}

TEST_F(EndingTest, NeverBeganForADirectory) {
  ExpectStartFailure(MakeCommand({"/usr"}), StartFailure::EXEC, EACCES);
}

TEST_F(EndingTest, NeverBeganForAScriptWithAMissingInterpreter) {
  const std::string script = server_.workspace() + "/script";
  WriteFile(script, "#!/nonexistent/interpreter\n");
  RunProgram({"chmod", "+x", script});
  ExpectStartFailure(MakeCommand({script}), StartFailure::EXEC, ENOENT);
}

TEST_F(EndingTest, NeverBeganInAMissingDirectory) {
  Command command = MakeCommand({"true"});
  command.set_working_directory(server_.workspace() + "/nonexistent");
  ExpectStartFailure(command, StartFailure::CHDIR, ENOENT);
}

TEST_F(EndingTest, OfOneSandboxsBombsDoesNotConcernAnother) {
  const std::string bystander = StartReady("echo ready; read x; echo $x");
  corral::v1::Limits limits;
  limits.set_memory_bytes(64 << 20);
  limits.set_pids(40);
  limits.set_cpu_millis(300);
  const std::string sandbox = CreateSandbox(limits);
  const std::string forks =
      client_->Start(sandbox, Shell("f() { f | f & }; f; sleep 1000")).name();
  const std::string memory =
      client_->Start(sandbox, MakeCommand({"tail", "/dev/zero"})).name();
  const Execution bombed = client_->Wait(memory);
  EXPECT_NE(bombed.state(), Execution::RUNNING);

  client_->WriteInput(bystander, 0, "alive\n");
  auto call = client_->Stream(bystander);
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_EQ(call->bytes[STDOUT], "ready\nalive\n");
  EXPECT_EQ(call->ended.exit().code(), 0);
  client_->DeleteSandbox(sandbox);
}

TEST_F(EndingTest, LeavesBackgroundProcessesUntilTheExecutionIsDeleted) {
  const std::string sandbox = CreateSandbox();
  auto call =
      client_->Run(sandbox, Shell("sleep 1000 >/dev/null 2>&1 & echo $!"));
  EXPECT_EQ(call->ended.exit().code(), 0);
  EXPECT_FALSE(call->ended.exit().output_open());
  const std::string pid(absl::StripSuffix(call->bytes[STDOUT], "\n"));
  const Command probe = MakeCommand({"test", "-d", "/proc/" + pid});
  EXPECT_EQ(client_->Run(sandbox, probe)->ended.exit().code(), 0);
  client_->Delete(call->opened.name());
  EXPECT_EQ(client_->Run(sandbox, probe)->ended.exit().code(), 1);
}

TEST_F(EndingTest, IsToldToReadersWhenARunningExecutionIsDeleted) {
  const std::string name = StartReady("echo ready; sleep 1000");
  auto call = client_->Stream(name);
  ASSERT_TRUE(call->Next());
  client_->Delete(name);
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_EQ(call->bytes[STDOUT], "ready\n");
  EXPECT_EQ(call->ended.exit().signal(), SIGKILL);
  EXPECT_EQ(call->ended.exit().cause(), ExitStatus::CLIENT_SIGNAL);
  EXPECT_EQ(Reason(client_->Stream(name)->Finish()), "EXECUTION_NOT_FOUND");
}

}  // namespace
}  // namespace tests
