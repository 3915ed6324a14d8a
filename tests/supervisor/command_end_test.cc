// How commands end in real sandboxes, by themselves or because Corral ends
// them, and what is reported about it.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/storage/output_log.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

class CommandEndTest : public ::testing::Test {
 protected:
  absl::Status Create() { return sandbox_.Create(); }
  wire::StartExecution Shell(const std::string& id, const std::string& script) {
    return sandbox_.Shell(id, script);
  }
  wire::ExecutionRecord Run(const wire::StartExecution& start) {
    return sandbox_.Run(start);
  }
  std::string Output(const std::string& id, const std::string& stream) {
    return sandbox_.Output(id, stream);
  }

  TestSandbox sandbox_;
};

TEST_F(CommandEndTest, KillsTheWholeTreeAtTheWallTimeout) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell(
      "e1", "trap '' TERM; setsid sh -c \"trap '' TERM; sleep 1000\" & wait");
  start.mutable_command()->set_wall_timeout_ns(100'000'000);
  start.mutable_command()->set_kill_grace_ns(100'000'000);
  const wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::WALL_TIMEOUT);
  EXPECT_TRUE(WIFSIGNALED(end.exit().wait_status()));
  EXPECT_FALSE(end.exit().output_open());
}

TEST_F(CommandEndTest, KillsTheCommandBeforeItSeesItsChildrenKilled) {
  ASSERT_THAT(Create(), IsOk());
  for (int i = 0; i < 20; ++i) {
    const std::string id = absl::StrCat("e", i);
    // Exits when a child was killed or fork(2) fails.
    ASSERT_THAT(sandbox_.Start(Shell(id, "while (:); do echo; done")), IsOk());
    for (int seen = 0; Output(id, "stdout").size() < 10;) {
      seen = sandbox_.recorder().WaitForMore(seen);
    }
    wire::Signal signal;
    signal.set_execution_id(id);
    signal.set_signal(SIGKILL);
    signal.set_kill_after_ns(-1);
    Outcome outcome;
    sandbox_.connection().Signal(signal, outcome.Callback());
    ASSERT_THAT(outcome.Wait(), IsOk());
    ASSERT_EQ(sandbox_.WaitForEnd(id).exit().wait_status(), SIGKILL);
  }
}

TEST_F(CommandEndTest, ReportsThatMemoryRanOut) {
  sandbox_.spec().set_memory_bytes(uint64_t{32} << 20);
  ASSERT_THAT(Create(), IsOk());
  // The shell keeps in memory what it reads.
  const wire::StartExecution start =
      Shell("e1", "x=$(head -c 200M /dev/zero | tr '\\0' x); echo ${#x}");
  const wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::OUT_OF_MEMORY)
      << end.exit().wait_status() << Output("e1", "stderr");
  EXPECT_GT(end.usage().oom_kills(), 0u);
}

TEST_F(CommandEndTest, ReportsOnlyTheCommandWhoseMemoryRanOut) {
  if (::access("/dev/kmsg", R_OK) != 0) {
    GTEST_SKIP() << "this host does not show its log";
  }
  sandbox_.spec().set_memory_bytes(uint64_t{32} << 20);
  ASSERT_THAT(Create(), IsOk());
  const wire::ExecutionRecord end =
      Run(Shell("e1", "tail /dev/zero; kill -9 $$"));
  EXPECT_GT(end.usage().oom_kills(), 0u);
  EXPECT_EQ(end.exit().wait_status(), SIGKILL);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::NORMAL);
}

TEST_F(CommandEndTest, KillsAllProcessesWhenMemoryRunsOutIfTheSandboxSaysSo) {
  sandbox_.spec().set_memory_bytes(uint64_t{32} << 20);
  sandbox_.spec().set_kill_all_on_oom(true);
  ASSERT_THAT(Create(), IsOk());
  ASSERT_THAT(sandbox_.Start(Shell("other", "sleep 1000")), IsOk());
  // Without an end, neither the shell nor the process in the background ends.
  const wire::ExecutionRecord end =
      Run(Shell("e1", "setsid sleep 1000 & tail /dev/zero & wait; sleep 1000"));
  EXPECT_EQ(end.exit().wait_status(), SIGKILL) << Output("e1", "stderr");
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::OUT_OF_MEMORY);
  EXPECT_GT(end.usage().oom_kills(), 0u);
  EXPECT_FALSE(end.exit().output_open());
  EXPECT_FALSE(sandbox_.recorder().Ended("other"));
  EXPECT_EQ(Run(Shell("e2", "exit 3")).exit().wait_status(), 3 << 8);
}

TEST_F(CommandEndTest, KillsWhatACommandLeavesWhenMemoryRunsOutWithIt) {
  sandbox_.spec().set_memory_bytes(uint64_t{32} << 20);
  sandbox_.spec().set_kill_all_on_oom(true);
  ASSERT_THAT(Create(), IsOk());
  // The kernel kills the shell, and with cgroup v1 not the process that holds
  // the output.
  const wire::ExecutionRecord end =
      Run(Shell("e1",
                "sleep 1000 & "
                "x=$(head -c 200M /dev/zero | tr '\\0' x); echo ${#x}"));
  EXPECT_EQ(end.exit().wait_status(), SIGKILL) << Output("e1", "stderr");
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::OUT_OF_MEMORY);
  EXPECT_FALSE(end.exit().output_open());
}

TEST_F(CommandEndTest, EndsAfterTheDrainAndKeepsLaterOutput) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start =
      Shell("e1",
            "echo early; (while [ ! -e go ]; do sleep 0.01; done; "
            "echo late) & exit 3");
  start.mutable_command()->set_drain_ns(0);
  const wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.exit().wait_status(), 3 << 8);
  EXPECT_TRUE(end.exit().output_open());
  EXPECT_EQ(Output("e1", "stdout"), "early\n");
  const std::ofstream go(sandbox_.workspace() + "/go");
  for (int seen = 0; Output("e1", "stdout") != "early\nlate\n";) {
    seen = sandbox_.recorder().WaitForMore(seen);
  }
}

TEST_F(CommandEndTest, DrainsOutputThatWaitedForRoomWithADrainOfZero) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell("e1", "head -c 200000 /dev/zero");
  start.mutable_command()->set_drain_ns(0);
  start.mutable_command()->set_retain_bytes(1 << 16);
  start.mutable_command()->set_overflow(wire::CommandSpec::BLOCK);
  ASSERT_THAT(sandbox_.Start(start), IsOk());
  absl::StatusOr<OutputLogReader> log = OutputLogReader::Open(
      sandbox_.directory() + "/executions/e1", wire::STDOUT);
  ASSERT_THAT(log.status(), IsOk());
  wire::Acknowledge acknowledge;
  acknowledge.set_execution_id("e1");
  acknowledge.set_stream(wire::STDOUT);
  for (int seen = 0; !sandbox_.recorder().Ended("e1");) {
    acknowledge.set_offset(log->state()->end);
    sandbox_.connection().Acknowledge(acknowledge);
    seen = sandbox_.recorder().WaitForMore(seen);
  }
  EXPECT_EQ(log->state()->end, 200000u);
  EXPECT_FALSE(sandbox_.WaitForEnd("e1").exit().output_open());
}

TEST_F(CommandEndTest, WaitsForADescendantAsLongAsTheDrainLasts) {
  ASSERT_THAT(Create(), IsOk());
  // The descendant writes when the command, whose pid is $$, was reaped.
  wire::StartExecution start = Shell(
      "e1", "(while kill -0 $$ 2>/dev/null; do :; done; echo late) & exit 3");
  start.mutable_command()->set_drain_ns(3'600'000'000'000);
  const wire::ExecutionRecord end = Run(start);
  EXPECT_FALSE(end.exit().output_open());
  EXPECT_EQ(Output("e1", "stdout"), "late\n");
}

TEST_F(CommandEndTest, CountsTheCpuTimeOfTheWholeTree) {
  ASSERT_THAT(Create(), IsOk());
  // The command itself uses no CPU time, and most of its descendants have
  // ended.
  wire::StartExecution start =
      Shell("e1",
            "while :; do setsid sh -c 'i=0; while [ $i -lt 5000 ]; do "
            "i=$((i+1)); done'; done");
  start.mutable_command()->set_cpu_timeout_ns(300'000'000);
  start.mutable_command()->set_kill_grace_ns(0);
  const wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::CPU_TIMEOUT);
  EXPECT_GE(end.usage().user_time_ns() + end.usage().system_time_ns(),
            290'000'000);
}

TEST_F(CommandEndTest, CountsNoCpuTimeForSleep) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell("e1", "sleep 2.2");
  start.mutable_command()->set_cpu_timeout_ns(2'000'000'000);
  EXPECT_EQ(Run(start).exit().cause(), wire::ExitRecord::NORMAL);
}

TEST_F(CommandEndTest, ReportsTheDescendantsThatWereKilled) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell(
      "e1", "sleep 1000 & setsid sleep 1000 & (exit 0) & echo $! $$; wait");
  // Long enough for both programs to have been executed, also when emulated.
  start.mutable_command()->set_wall_timeout_ns(2'000'000'000);
  const wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::WALL_TIMEOUT);
  EXPECT_EQ(end.exit().killed_count(), 2u);
  ASSERT_EQ(end.exit().killed_size(), 2);
  for (const wire::ExitRecord::Killed& killed : end.exit().killed()) {
    EXPECT_EQ(killed.command(), "sleep");
    EXPECT_GT(killed.pid(), 1);
    EXPECT_LT(killed.pid(), 100);
  }
}

TEST_F(CommandEndTest, ReportsTheFirstOfManyKilledDescendantsAndTheirNumber) {
  ASSERT_THAT(Create(), IsOk());
  ASSERT_THAT(sandbox_.Start(
                  Shell("e1",
                        "for i in 1 2 3 4 5 6 7 8; do for j in 1 2 3 4 5; do "
                        "sleep 1000 & done; done; echo ready; wait")),
              IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("e1", "stdout", "ready"));
  EXPECT_THAT(sandbox_.Signal("e1", SIGKILL), IsOk());
  const wire::ExecutionRecord end = sandbox_.WaitForEnd("e1");
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::CLIENT_SIGNAL);
  EXPECT_EQ(end.exit().killed_count(), 40u);
  EXPECT_EQ(end.exit().killed_size(), 32);
}

TEST_F(CommandEndTest, ReportsNobodyAsKilledWhenTheCommandEndsByItself) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell("e1", "sleep 1000 & kill -9 $$");
  start.mutable_command()->set_drain_ns(0);
  const wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.exit().wait_status(), SIGKILL);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::NORMAL);
  EXPECT_EQ(end.exit().killed_count(), 0u);
}

TEST_F(CommandEndTest, ReportsTheCommandsOwnEndWhateverItsDescendantsGetLater) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell("e1", "sleep 1000 & kill -9 $$");
  start.mutable_command()->set_drain_ns(3'600'000'000'000);
  ASSERT_THAT(sandbox_.Start(start), IsOk());
  wire::Signal probe;
  probe.set_execution_id("e1");
  probe.set_scope(wire::Signal::LEADER);
  probe.set_kill_after_ns(-1);
  absl::Status alive;
  while (alive.ok()) {
    Outcome outcome;
    sandbox_.connection().Signal(probe, outcome.Callback());
    alive = outcome.Wait();
  }
  EXPECT_THAT(sandbox_.Signal("e1", SIGKILL), IsOk());
  const wire::ExecutionRecord end = sandbox_.WaitForEnd("e1");
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::NORMAL);
  EXPECT_FALSE(end.exit().output_open());
  EXPECT_EQ(end.exit().killed_count(), 1u);
}

TEST_F(CommandEndTest, DeliversASignalThatWasSentBeforeTheCommandRan) {
  ASSERT_THAT(Create(), IsOk());
  constexpr int kCommands = 40;
  const wire::Signal::Scope scopes[] = {
      wire::Signal::TREE, wire::Signal::LEADER, wire::Signal::FOREGROUND_GROUP};
  std::deque<Outcome> outcomes;
  // The spawner starts one command at a time.
  for (int i = 0; i < kCommands; ++i) {
    wire::StartExecution start =
        sandbox_.Command(absl::StrCat("e", i), {"sleep", "1000"});
    start.mutable_command()->set_terminal_rows(24);
    start.mutable_command()->set_terminal_columns(80);
    sandbox_.connection().Start(start, outcomes.emplace_back().Callback());
  }
  wire::Signal signal;
  signal.set_kill_after_ns(-1);
  for (int i = 0; i < kCommands; ++i) {
    signal.set_execution_id(absl::StrCat("e", i));
    signal.set_scope(scopes[i % 3]);
    signal.set_signal(i % 2 == 0 ? SIGKILL : SIGINT);
    sandbox_.connection().Signal(signal, outcomes.emplace_back().Callback());
  }
  for (Outcome& outcome : outcomes) {
    EXPECT_THAT(outcome.Wait(), IsOk());
  }
  for (int i = 0; i < kCommands; ++i) {
    const wire::ExecutionRecord end = sandbox_.WaitForEnd(absl::StrCat("e", i));
    EXPECT_EQ(end.exit().wait_status(), i % 2 == 0 ? SIGKILL : SIGINT);
    EXPECT_EQ(end.exit().cause(), wire::ExitRecord::CLIENT_SIGNAL);
  }
}

TEST_F(CommandEndTest, ARefusedSignalIsNotTheCauseOfTheEnd) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell("e1", "read x; kill -TERM $$");
  start.mutable_command()->set_open_stdin(true);
  ASSERT_THAT(sandbox_.Start(start), IsOk());
  wire::Signal signal;
  signal.set_execution_id("e1");
  signal.set_signal(SIGTERM);
  signal.set_scope(wire::Signal::FOREGROUND_GROUP);
  signal.set_kill_after_ns(-1);
  Outcome outcome;
  sandbox_.connection().Signal(signal, outcome.Callback());
  EXPECT_THAT(outcome.Wait(),
              FailsWith(wire::Reply::NOT_A_TERMINAL, HasSubstr("no terminal")));
  wire::WriteInput input;
  input.set_execution_id("e1");
  input.set_eof(true);
  sandbox_.connection().WriteInput(
      input, [](const absl::Status&, const wire::InputState&) {});
  const wire::ExecutionRecord end = sandbox_.WaitForEnd("e1");
  EXPECT_EQ(end.exit().wait_status(), SIGTERM);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::NORMAL);
}

}  // namespace
}  // namespace sandbox
