#include "bridge/cli/report/exit_report.h"

#include <errno.h>
#include <signal.h>

#include "gtest/gtest.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::ExitStatus;

Execution Killed(ExitStatus::Cause cause) {
  Execution execution;
  execution.set_state(Execution::EXITED);
  execution.mutable_exit()->set_signal(SIGKILL);
  execution.mutable_exit()->set_cause(cause);
  return execution;
}

TEST(ExitReportTest, ExplainsWhyACommandWasKilled) {
  EXPECT_EQ(ExplainEnd(Killed(ExitStatus::CLIENT_SIGNAL)), "");
  EXPECT_EQ(ExplainEnd(Killed(ExitStatus::SANDBOX_EXPIRED)),
            "the sandbox's lifetime was over (SIGKILL)");
  EXPECT_EQ(ExplainEnd(Killed(ExitStatus::OUTPUT_FAILED)),
            "the server's disk took no more of its output (SIGKILL)");
  EXPECT_EQ(ExplainEnd(Killed(ExitStatus::SYSCALL_DENIED)),
            "killed for a system call that the sandbox denies (SIGKILL)");
  Execution execution = Killed(ExitStatus::OUTPUT_LIMIT);
  execution.mutable_command()->mutable_output()->set_retain_bytes(1 << 20);
  EXPECT_EQ(ExplainEnd(execution),
            "it wrote more output than the 1 MiB that are kept (SIGKILL)");
  execution = Killed(ExitStatus::CPU_TIMEOUT);
  execution.mutable_command()->mutable_cpu_timeout()->set_seconds(90);
  EXPECT_EQ(ExplainEnd(execution),
            "ended by its CPU timeout of 1m30s (SIGKILL)");
  EXPECT_EQ(StateText(execution), "SIGKILL (CPU timeout)");
}

TEST(ExitReportTest, ExplainsWhoEndedTheSandbox) {
  EXPECT_EQ(ExplainEnd(Killed(ExitStatus::SANDBOX_DELETED)),
            "the sandbox was deleted (SIGKILL)");
  EXPECT_EQ(ExplainEnd(Killed(ExitStatus::SERVER_SHUTDOWN)),
            "the server was shut down (SIGKILL)");
}

TEST(ExitReportTest, ShowsHowMuchMemoryWasUsed) {
  Execution execution = Killed(ExitStatus::OUT_OF_MEMORY);
  EXPECT_EQ(ExplainEnd(execution),
            "out of memory: the sandbox reached its limit (SIGKILL)");
  execution.mutable_usage()->set_memory_peak_bytes(1);
  EXPECT_EQ(ExplainEnd(execution),
            "out of memory: the sandbox reached its limit (SIGKILL, peak 1 "
            "bytes)");
  // With Limits.kill_all_on_oom.
  execution.mutable_exit()->set_code(137);
  EXPECT_EQ(ExplainEnd(execution),
            "out of memory: the sandbox reached its limit (exited 137, peak 1 "
            "bytes)");
}

TEST(ExitReportTest, SaysThatACommandLostProcessesToTheLimitOfMemory) {
  Execution execution;
  execution.set_state(Execution::EXITED);
  execution.mutable_exit()->set_code(3);
  execution.mutable_exit()->set_cause(ExitStatus::NORMAL);
  EXPECT_EQ(ExplainEnd(execution), "");
  execution.mutable_usage()->set_oom_kills(1);
  EXPECT_EQ(ExplainEnd(execution),
            "out of memory: the sandbox reached its limit, 1 of its processes "
            "killed");
  EXPECT_EQ(ExitCode(execution), 3);
}

TEST(ExitReportTest, SaysThatAFileBecameTooLarge) {
  Execution execution = Killed(ExitStatus::NORMAL);
  EXPECT_EQ(ExplainEnd(execution), "");
  execution.mutable_exit()->set_signal(SIGXFSZ);
  EXPECT_EQ(ExplainEnd(execution),
            "a file reached its limit of size (SIGXFSZ)");
  EXPECT_EQ(StateText(execution), "SIGXFSZ");
  execution.mutable_exit()->set_code(SIGXFSZ);
  EXPECT_EQ(ExplainEnd(execution), "");
}

TEST(ExitReportTest, NamesTheStateForATable) {
  const struct {
    ExitStatus::Cause cause;
    const char* text;
  } cases[] = {
      {ExitStatus::CLIENT_SIGNAL, "SIGKILL"},
      {ExitStatus::WALL_TIMEOUT, "SIGKILL (timeout)"},
      {ExitStatus::OUT_OF_MEMORY, "SIGKILL (out of memory)"},
      {ExitStatus::CPU_TIMEOUT, "SIGKILL (CPU timeout)"},
      {ExitStatus::OUTPUT_LIMIT, "SIGKILL (output limit)"},
      {ExitStatus::OUTPUT_FAILED, "SIGKILL (output failed)"},
      {ExitStatus::SYSCALL_DENIED, "SIGKILL (system call denied)"},
      {ExitStatus::SANDBOX_EXPIRED, "SIGKILL (sandbox expired)"},
  };
  for (const auto& example : cases) {
    EXPECT_EQ(StateText(Killed(example.cause)), example.text);
  }
  Execution execution;
  EXPECT_EQ(StateText(execution), "starting");
  execution.set_state(Execution::RUNNING);
  EXPECT_EQ(StateText(execution), "running");
  EXPECT_EQ(ExplainEnd(execution), "the command has not ended");
  EXPECT_EQ(ExitCode(execution), 125);
  execution.set_state(Execution::LOST);
  EXPECT_EQ(StateText(execution), "lost");
  execution.set_state(Execution::EXITED);
  execution.mutable_exit()->set_code(3);
  EXPECT_EQ(StateText(execution), "exited 3");
}

TEST(ExitReportTest, CountsTheProcessesThatWereKilledToo) {
  Execution execution = Killed(ExitStatus::SANDBOX_DELETED);
  execution.mutable_exit()->set_killed_count(1);
  EXPECT_EQ(ExplainEnd(execution),
            "the sandbox was deleted (SIGKILL); also killed: 1 process");
  execution.mutable_exit()->set_killed_count(2);
  EXPECT_EQ(ExplainEnd(execution),
            "the sandbox was deleted (SIGKILL); also killed: 2 processes");
  // A command that ended as it was told needs no explanation.
  execution.mutable_exit()->set_cause(ExitStatus::CLIENT_SIGNAL);
  EXPECT_EQ(ExplainEnd(execution), "");
}

TEST(ExitReportTest, NamesTheProcessesThatWereKilledToo) {
  Execution execution = Killed(ExitStatus::WALL_TIMEOUT);
  execution.mutable_command()->mutable_wall_timeout()->set_seconds(5);
  for (const char* command : {"make", "sleep", "sleep", "a\x1b"}) {
    execution.mutable_exit()->add_killed()->set_command(command);
  }
  execution.mutable_exit()->set_killed_count(40);
  EXPECT_EQ(ExplainEnd(execution),
            "ended by its timeout of 5s (SIGKILL); also killed: 40 processes "
            "(make, sleep, a\\x1b)");
}

Execution FailedToStart(corral::v1::StartFailure::Stage stage,
                        int errno_value) {
  Execution execution;
  execution.set_state(Execution::FAILED_TO_START);
  execution.mutable_command()->add_argv("prog");
  execution.mutable_command()->set_working_directory("/gone");
  execution.mutable_start_failure()->set_stage(stage);
  execution.mutable_start_failure()->set_errno_value(errno_value);
  return execution;
}

TEST(ExitReportTest, DistinguishesMistakesOfTheCallerFromFailuresOfCorral) {
  using corral::v1::StartFailure;
  EXPECT_EQ(ExitCode(FailedToStart(StartFailure::EXEC, ENOENT)), 127);
  EXPECT_EQ(ExitCode(FailedToStart(StartFailure::EXEC, EACCES)), 126);
  EXPECT_EQ(ExitCode(FailedToStart(StartFailure::CHDIR, ENOENT)), 126);
  EXPECT_EQ(ExitCode(FailedToStart(StartFailure::SETUP, ENOENT)), 125);
  EXPECT_EQ(ExitCode(FailedToStart(StartFailure::CLONE, EAGAIN)), 125);
}

TEST(ExitReportTest, NamesTheDirectoryOrTheProgramOfAFailedStart) {
  using corral::v1::StartFailure;
  EXPECT_EQ(ExplainEnd(FailedToStart(StartFailure::CHDIR, ENOENT)),
            "/gone: chdir failed: No such file or directory (ENOENT)");
  EXPECT_EQ(ExplainEnd(FailedToStart(StartFailure::EXEC, EACCES)),
            "prog: exec failed: Permission denied (EACCES)");
  EXPECT_EQ(StateText(FailedToStart(StartFailure::EXEC, EACCES)),
            "failed: EACCES");
  EXPECT_EQ(ExplainEnd(FailedToStart(StartFailure::CHDIR, EINTR)),
            "prog: killed before it was executed");
}

TEST(ExitReportTest, EscapesTheNameOfAProgramThatDidNotStart) {
  using corral::v1::StartFailure;
  Execution execution = FailedToStart(StartFailure::EXEC, ENOENT);
  execution.mutable_command()->set_argv(0, "a\x1b");
  EXPECT_EQ(ExplainEnd(execution),
            "a\\x1b: exec failed: No such file or directory (ENOENT)");
  execution.mutable_start_failure()->set_errno_value(EINTR);
  EXPECT_EQ(ExplainEnd(execution), "a\\x1b: killed before it was executed");
}

TEST(ExitReportTest, ExplainsWhyTheEndIsNotKnown) {
  Execution execution;
  execution.set_state(Execution::LOST);
  EXPECT_EQ(ExplainEnd(execution),
            "how the command ended is not known: its supervisor died");
  execution.mutable_loss()->set_message("the host went down");
  EXPECT_EQ(ExplainEnd(execution),
            "how the command ended is not known: the host went down");
  EXPECT_EQ(ExitCode(execution), 125);
}

}  // namespace
}  // namespace bridge
