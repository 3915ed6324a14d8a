// How commands end or fail to start, and what Corral reports then.

#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/text_file.h"

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
  // Starts the script in a new sandbox and waits for the line "ready".
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

constexpr absl::Duration kPollInterval = absl::Milliseconds(5);
constexpr char kHoldingDescendant[] = "sleep 1000 & echo ready; wait";

TEST_F(EndingTest, ReportsTheSameEndToEarlyAndLateWaiters) {
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

TEST_F(EndingTest, SignalToTheTreeLeavesNoDescendant) {
  const std::string name = StartReady(kHoldingDescendant);
  EXPECT_TRUE(client_->Signal(name, SIGKILL).ok());
  const Execution execution = client_->Wait(name);
  EXPECT_EQ(execution.exit().signal(), SIGKILL);
  EXPECT_EQ(execution.exit().cause(), ExitStatus::CLIENT_SIGNAL);
  EXPECT_FALSE(execution.exit().output_open());
  // The descendant closes its streams a moment before it leaves the cgroup.
  grpc::Status signalled = client_->Signal(name, SIGTERM);
  while (signalled.ok()) {
    absl::SleepFor(kPollInterval);
    signalled = client_->Signal(name, SIGTERM);
  }
  EXPECT_EQ(Reason(signalled), "EXECUTION_ENDED");
}

TEST_F(EndingTest, SignalToTheLeaderLeavesItsDescendantsRunning) {
  const std::string name = StartReady(kHoldingDescendant);
  EXPECT_TRUE(
      client_->Signal(name, SIGTERM, SignalExecutionRequest::LEADER).ok());
  const Execution execution = client_->Wait(name);
  EXPECT_EQ(execution.exit().signal(), SIGTERM);
  EXPECT_TRUE(execution.exit().output_open());
  EXPECT_TRUE(client_->Signal(name, SIGTERM).ok());
}

TEST_F(EndingTest, KillAfterEndsProcessesThatIgnoreTheSignal) {
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

TEST_F(EndingTest, WallTimeoutEndsTheCommand) {
  Command command = MakeCommand({"sleep", "1000"});
  command.mutable_wall_timeout()->set_nanos(100'000'000);
  const auto call = client_->Run(CreateSandbox(), command);
  EXPECT_EQ(call->ended.exit().signal(), SIGTERM);
  EXPECT_EQ(call->ended.exit().cause(), ExitStatus::WALL_TIMEOUT);
}

TEST_F(EndingTest, MemoryLimitEndsTheCommand) {
  corral::v1::Limits limits;
  limits.set_memory_bytes(32 << 20);
  const auto call =
      client_->Run(CreateSandbox(limits), MakeCommand({"tail", "/dev/zero"}));
  EXPECT_EQ(call->ended.exit().signal(), SIGKILL);
  EXPECT_EQ(call->ended.exit().cause(), ExitStatus::OUT_OF_MEMORY);
  EXPECT_GE(call->ended.usage().oom_kills(), 1);
  EXPECT_LE(call->ended.usage().memory_peak_bytes(), 32 << 20);
}

TEST_F(EndingTest, ReportsTheExactExitCode) {
  const std::string sandbox = CreateSandbox();
  for (const int code : {0, 1, 125, 126, 127, 128, 137, 143, 255}) {
    const auto call = client_->Run(sandbox, Shell(absl::StrCat("exit ", code)));
    EXPECT_TRUE(call->ended.exit().has_code());
    EXPECT_EQ(call->ended.exit().code(), code);
    EXPECT_EQ(call->ended.exit().cause(), ExitStatus::NORMAL);
  }
}

TEST_F(EndingTest, ReportsTheCommandsOwnSignalAsNormal) {
  const std::string sandbox = CreateSandbox();
  for (const int signal : {SIGHUP, SIGABRT, SIGKILL, SIGTERM, SIGSYS, SIGXCPU,
                           SIGRTMIN, SIGRTMAX}) {
    const auto call =
        client_->Run(sandbox, Shell(absl::StrCat("kill -", signal, " $$")));
    EXPECT_EQ(call->ended.exit().signal(), signal);
    EXPECT_EQ(call->ended.exit().cause(), ExitStatus::NORMAL) << signal;
    EXPECT_FALSE(call->ended.exit().core_dumped());
    EXPECT_EQ(call->ended.exit().killed_count(), 0u);
  }
}

TEST_F(EndingTest, OutputCannotForgeAnEnd) {
  // Bytes with which a protocol could frame an end.
  const std::string frames =
      "{\"exit_code\":0}\r\n0\r\n\r\n\x1b]133;D;0\x07\x04"
      "__EXIT_CODE__:0\n";
  WriteFile(server_.workspace() + "/frames", frames);
  for (int i = 0; i < 2; ++i) {
    const auto call = client_->Run(
        CreateSandbox(),
        Shell(absl::StrCat("cat ", server_.workspace(), "/frames; exit 9")));
    EXPECT_EQ(call->bytes[STDOUT], frames);
    EXPECT_EQ(call->ended.exit().code(), 9);
  }
}

TEST_F(EndingTest, CpuTimeoutEndsTheCommand) {
  Command command = Shell("while :; do (:); done");
  command.mutable_cpu_timeout()->set_nanos(200'000'000);
  const auto call = client_->Run(CreateSandbox(), command);
  EXPECT_EQ(call->ended.exit().signal(), SIGTERM);
  EXPECT_EQ(call->ended.exit().cause(), ExitStatus::CPU_TIMEOUT);
}

TEST_F(EndingTest, LackOfMemoryEndsAllProcessesOfACommandIfAsked) {
  corral::v1::Limits limits;
  limits.set_memory_bytes(48 << 20);
  limits.set_kill_all_on_oom(true);
  const auto call = client_->Run(CreateSandbox(limits),
                                 Shell("tail /dev/zero & wait; sleep 1000"));
  EXPECT_EQ(call->ended.exit().signal(), SIGKILL);
  EXPECT_EQ(call->ended.exit().cause(), ExitStatus::OUT_OF_MEMORY);
}

TEST_F(EndingTest, AFileThatBecomesTooLargeEndsItsWriterByASignal) {
  corral::v1::Limits limits;
  limits.set_file_bytes(1 << 20);
  const std::string sandbox = CreateSandbox(limits);
  const auto call =
      client_->Run(sandbox, Shell("exec head -c 2M /dev/zero > /tmp/file"));
  EXPECT_EQ(call->ended.exit().signal(), SIGXFSZ);
  EXPECT_EQ(call->ended.exit().cause(), ExitStatus::NORMAL);
  EXPECT_FALSE(call->ended.exit().core_dumped());
}

TEST_F(EndingTest, ReportsTheDescendantsThatATimeoutKilled) {
  Command command = Shell(
      "setsid sleep 1000 >/dev/null 2>&1 & (sh -c 'sleep 1001 & wait' &) ; "
      "tail -f /dev/null & wait");
  command.mutable_wall_timeout()->set_nanos(500'000'000);
  const auto call = client_->Run(CreateSandbox(), command);
  EXPECT_EQ(call->ended.exit().cause(), ExitStatus::WALL_TIMEOUT);
  EXPECT_EQ(call->ended.exit().killed_count(), 4u);
  std::vector<std::string> killed;
  for (const auto& process : call->ended.exit().killed()) {
    killed.push_back(process.command());
    EXPECT_GT(process.pid(), 1);
  }
  EXPECT_THAT(killed,
              ::testing::UnorderedElementsAre("sleep", "sleep", "sh", "tail"));
}

TEST_F(EndingTest, DaemonDelaysTheEndOnlyForTheDrain) {
  const std::string sandbox = CreateSandbox();
  const std::string go = server_.workspace() + "/go";
  // Forks twice and stays in its own session; it holds the pipe.
  Command command = Shell(absl::StrCat(
      "(setsid sh -c 'while [ ! -e ", go,
      " ]; do sleep 0.01; done; echo late' &) ; echo early; exit 4"));
  command.mutable_drain_timeout()->set_nanos(50'000'000);
  const auto call = client_->Run(sandbox, command);
  EXPECT_EQ(call->bytes[STDOUT], "early\n");
  EXPECT_EQ(call->ended.exit().code(), 4);
  EXPECT_TRUE(call->ended.exit().output_open());
  EXPECT_EQ(call->ended.exit().killed_count(), 0u);

  WriteFile(go, "");
  corral::v1::ReadOutputRequest request;
  request.set_name(call->opened.name());
  request.set_stream(STDOUT);
  corral::v1::ReadOutputResponse response;
  while (!response.state().closed()) {
    ASSERT_TRUE(
        client_->Call(&ExecutionStub::ReadOutput, request, &response).ok());
  }
  ASSERT_TRUE(
      client_->Call(&ExecutionStub::ReadOutput, request, &response).ok());
  EXPECT_EQ(response.data(), "early\nlate\n");
}

TEST_F(EndingTest, FailsToStartAMissingProgram) {
  ExpectStartFailure(MakeCommand({"/nonexistent/program"}), StartFailure::EXEC,
                     ENOENT);
  ExpectStartFailure(MakeCommand({"nonexistent-program"}), StartFailure::EXEC,
                     ENOENT);
}

TEST_F(EndingTest, FailsToStartADirectory) {
  ExpectStartFailure(MakeCommand({"/usr"}), StartFailure::EXEC, EACCES);
}

TEST_F(EndingTest, FailsToStartAScriptWithAMissingInterpreter) {
  const std::string script = server_.workspace() + "/script";
  WriteFile(script, "#!/nonexistent/interpreter\n");
  RunProgram({"chmod", "+x", script});
  ExpectStartFailure(MakeCommand({script}), StartFailure::EXEC, ENOENT);
}

TEST_F(EndingTest, FailsToStartInAMissingDirectory) {
  Command command = MakeCommand({"true"});
  command.set_working_directory(server_.workspace() + "/nonexistent");
  ExpectStartFailure(command, StartFailure::CHDIR, ENOENT);
}

TEST_F(EndingTest, BombsOfOneSandboxDoNotAffectAnother) {
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

TEST_F(EndingTest, BackgroundProcessesLiveUntilTheExecutionIsDeleted) {
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

TEST_F(EndingTest, DeletingARunningExecutionSendsItsEndToReaders) {
  const std::string name = StartReady("echo ready; sleep 1000");
  auto call = client_->Stream(name);
  while (call->bytes[STDOUT].empty()) {
    ASSERT_TRUE(call->Next());
  }
  client_->Delete(name);
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_EQ(call->bytes[STDOUT], "ready\n");
  EXPECT_EQ(call->ended.exit().signal(), SIGKILL);
  EXPECT_EQ(call->ended.exit().cause(), ExitStatus::CLIENT_SIGNAL);
  EXPECT_EQ(Reason(client_->Stream(name)->Finish()), "EXECUTION_NOT_FOUND");
}

}  // namespace
}  // namespace tests
