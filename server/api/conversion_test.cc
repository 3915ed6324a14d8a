#include "server/api/conversion.h"

#include <cerrno>
#include <csignal>
#include <string>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace server {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

corral::v1::Command True() {
  corral::v1::Command command;
  command.add_argv("true");
  return command;
}

TEST(ConversionTest, ACommandGetsTheDefaultsOfItsSandbox) {
  const wire::CommandSpec spec = ToCommandSpec(True(), "/build");
  EXPECT_THAT(
      spec.environment(),
      AllOf(Contains("HOME=/home/corral"), Contains("USER=corral"),
            Contains("SHELL=/bin/bash"), Not(Contains("TERM=xterm-256color"))));
  EXPECT_EQ(spec.working_directory(), "/build");
  EXPECT_EQ(spec.kill_grace_ns(), 2'000'000'000);
  EXPECT_EQ(spec.retain_bytes(), 64 << 20);
  EXPECT_EQ(spec.wall_timeout_ns(), 0);
  EXPECT_EQ(ToCommandSpec(True(), "").working_directory(), "/home/corral");
}

TEST(ConversionTest, TheLastValueOfARepeatedNameCountsAndReplacesADefault) {
  corral::v1::Command command = True();
  for (const char* value : {"1", "2"}) {
    auto* variable = command.add_environment();
    variable->set_name("LANG");
    variable->set_value(value);
  }
  const wire::CommandSpec spec = ToCommandSpec(command, "");
  EXPECT_THAT(spec.environment(),
              AllOf(Contains("LANG=2"), Not(Contains("LANG=1")),
                    Not(Contains("LANG=C.UTF-8"))));
}

TEST(ConversionTest, ATerminalHasTheVariableTermAndOneStream) {
  corral::v1::Command command = True();
  command.mutable_terminal()->set_rows(24);
  EXPECT_THAT(ToCommandSpec(command, "").environment(),
              Contains("TERM=xterm-256color"));
  EXPECT_THAT(StreamsOf(command), ElementsAre(corral::v1::TERMINAL));
  EXPECT_THAT(StreamsOf(True()),
              ElementsAre(corral::v1::STDOUT, corral::v1::STDERR));
}

TEST(ConversionTest, TheOriginalCommandIsKeptForALaterServer) {
  const wire::CommandSpec spec = ToCommandSpec(True(), "/build");
  corral::v1::Command original;
  ASSERT_TRUE(original.ParseFromString(spec.original()));
  EXPECT_EQ(original.argv(0), "true");
}

TEST(ConversionTest, ReportsASignalAsASignalAndNotAsACode) {
  wire::ExecutionRecord record;
  record.set_state(wire::ExecutionRecord::EXITED);
  record.mutable_exit()->set_wait_status(SIGKILL);
  record.mutable_exit()->set_cause(wire::ExitRecord::WALL_TIMEOUT);
  corral::v1::Execution execution;
  MergeRecord(record, &execution);
  EXPECT_EQ(execution.exit().how_case(), corral::v1::ExitStatus::kSignal);
  EXPECT_EQ(execution.exit().signal(), SIGKILL);
  EXPECT_EQ(execution.exit().cause(), corral::v1::ExitStatus::WALL_TIMEOUT);
  EXPECT_FALSE(execution.has_start_time());
}

TEST(ConversionTest, AFailedStartReportsItsStageAndErrno) {
  wire::ExecutionRecord record;
  record.set_state(wire::ExecutionRecord::FAILED_TO_START);
  record.mutable_failure()->set_stage(wire::StartFailure::EXEC);
  record.mutable_failure()->set_errno_value(2);
  corral::v1::Execution execution;
  MergeRecord(record, &execution);
  EXPECT_EQ(execution.start_failure().stage(), corral::v1::StartFailure::EXEC);
  EXPECT_EQ(execution.start_failure().message(),
            "EXEC: No such file or directory");
}

TEST(ConversionTest, AFailedStartSaysThatTheProcessWasKilled) {
  wire::ExecutionRecord record;
  record.set_state(wire::ExecutionRecord::FAILED_TO_START);
  record.mutable_failure()->set_stage(wire::StartFailure::CHDIR);
  record.mutable_failure()->set_errno_value(EINTR);
  corral::v1::Execution execution;
  MergeRecord(record, &execution);
  EXPECT_EQ(execution.start_failure().message(),
            "CHDIR: its process was killed before the program was executed");
}

TEST(ConversionTest, AFailedStartNamesTheSettingThatLimitsCompiledFilters) {
  wire::ExecutionRecord record;
  record.set_state(wire::ExecutionRecord::FAILED_TO_START);
  record.mutable_failure()->set_errno_value(524);
  corral::v1::Execution execution;
  MergeRecord(record, &execution);
  EXPECT_THAT(execution.start_failure().message(),
              testing::HasSubstr("net.core.bpf_jit_limit"));
}

TEST(ConversionTest, ASandboxGetsTheDefaultOfEachLimitThatIsAbsent) {
  corral::v1::Sandbox wanted;
  wanted.mutable_limits()->set_pids(10);
  wanted.mutable_workspace()->set_path("/build/");
  wanted.add_further_workspaces()->set_path("/lib/");
  wanted.mutable_further_workspaces(0)->set_read_only(true);
  SandboxDefaults defaults;
  defaults.limits.set_pids(99);
  defaults.limits.set_memory_bytes(1 << 30);
  const corral::v1::Sandbox sandbox = FromSpec(ToSpec(wanted, defaults));
  EXPECT_EQ(sandbox.limits().pids(), 10);
  EXPECT_EQ(sandbox.limits().memory_bytes(), 1 << 30);
  EXPECT_FALSE(sandbox.limits().has_cpu_millis());
  EXPECT_EQ(sandbox.workspace().path(), "/build");
  EXPECT_EQ(sandbox.further_workspaces(0).path(), "/lib");
  EXPECT_TRUE(sandbox.further_workspaces(0).read_only());
}

TEST(ConversionTest, EveryProfileKeepsItsName) {
  for (const corral::v1::Sandbox::Profile profile :
       {corral::v1::Sandbox::DEFAULT, corral::v1::Sandbox::STRICT,
        corral::v1::Sandbox::DEBUG, corral::v1::Sandbox::NESTED}) {
    corral::v1::Sandbox wanted;
    wanted.set_profile(profile);
    const wire::SandboxSpec spec = ToSpec(wanted, SandboxDefaults());
    EXPECT_EQ(wire::SandboxSpec::Profile_Name(spec.profile()),
              corral::v1::Sandbox::Profile_Name(profile));
    EXPECT_EQ(FromSpec(spec).profile(), profile);
  }
  EXPECT_EQ(ToSpec(corral::v1::Sandbox(), SandboxDefaults()).profile(),
            wire::SandboxSpec::DEFAULT);
}

TEST(ConversionTest, EveryStreamKeepsItsNameAndHasItsOwnFile) {
  EXPECT_EQ(ToWire(corral::v1::STDOUT), wire::STDOUT);
  EXPECT_EQ(ToWire(corral::v1::STDERR), wire::STDERR);
  EXPECT_EQ(ToWire(corral::v1::TERMINAL), wire::TERMINAL);
  EXPECT_STREQ(LogFileName(corral::v1::STDOUT), "stdout");
  EXPECT_STREQ(LogFileName(corral::v1::STDERR), "stderr");
  EXPECT_STREQ(LogFileName(corral::v1::TERMINAL), "terminal");
}

TEST(ConversionTest, EveryScopeOfASignalKeepsItsName) {
  using Request = corral::v1::SignalExecutionRequest;
  EXPECT_EQ(ToWire(Request::SCOPE_UNSPECIFIED), wire::Signal::TREE);
  EXPECT_EQ(ToWire(Request::TREE), wire::Signal::TREE);
  EXPECT_EQ(ToWire(Request::LEADER), wire::Signal::LEADER);
  EXPECT_EQ(ToWire(Request::FOREGROUND_GROUP), wire::Signal::FOREGROUND_GROUP);
}

TEST(ConversionTest, OnlyThreeStatesAreEnds) {
  EXPECT_TRUE(IsEnd(corral::v1::Execution::EXITED));
  EXPECT_TRUE(IsEnd(corral::v1::Execution::FAILED_TO_START));
  EXPECT_TRUE(IsEnd(corral::v1::Execution::LOST));
  EXPECT_FALSE(IsEnd(corral::v1::Execution::STARTING));
  EXPECT_FALSE(IsEnd(corral::v1::Execution::RUNNING));
}

TEST(ConversionTest, KnowsEveryCauseByItsName) {
  for (int i = 0; i <= wire::ExitRecord::Cause_MAX; ++i) {
    wire::ExecutionRecord record;
    record.set_state(wire::ExecutionRecord::EXITED);
    record.mutable_exit()->set_cause(static_cast<wire::ExitRecord::Cause>(i));
    corral::v1::Execution execution;
    MergeRecord(record, &execution);
    EXPECT_EQ(corral::v1::ExitStatus::Cause_Name(execution.exit().cause()),
              wire::ExitRecord::Cause_Name(record.exit().cause()));
  }
}

TEST(ConversionTest, ASandboxGetsTheDefaultOfEachLifetimeThatIsAbsent) {
  corral::v1::Sandbox wanted;
  wanted.mutable_lifetime()->mutable_max_age()->set_seconds(60);
  wanted.mutable_limits()->set_output_bytes(5 << 20);
  SandboxDefaults defaults;
  defaults.lifetime.mutable_max_age()->set_seconds(1);
  defaults.lifetime.mutable_idle_timeout()->set_seconds(7);
  wire::SandboxSpec spec = ToSpec(wanted, defaults);
  spec.set_create_time_ns(1'000'000'000);
  const corral::v1::Sandbox sandbox = FromSpec(spec);
  EXPECT_EQ(sandbox.lifetime().max_age().seconds(), 60);
  EXPECT_EQ(sandbox.lifetime().idle_timeout().seconds(), 7);
  EXPECT_FALSE(sandbox.lifetime().has_lease_timeout());
  EXPECT_EQ(sandbox.expire_time().seconds(), 61);
  EXPECT_EQ(sandbox.limits().output_bytes(), 5 << 20);
  EXPECT_FALSE(FromSpec(wire::SandboxSpec()).has_lifetime());
}

TEST(ConversionTest, ASandboxGetsTheDefaultRetentionThatIsAbsent) {
  SandboxDefaults defaults;
  defaults.retention.set_max_ended_executions(1000);
  defaults.retention.mutable_max_ended_age()->set_seconds(60);
  corral::v1::Sandbox wanted;
  const wire::SandboxSpec spec = ToSpec(wanted, defaults);
  EXPECT_EQ(spec.max_ended_executions(), 1000);
  EXPECT_EQ(spec.max_ended_age_ns(), 60'000'000'000);
  wanted.mutable_retention()->set_max_ended_executions(0);
  wanted.mutable_retention()->mutable_max_ended_age()->set_nanos(1'500'000'000);
  const corral::v1::Sandbox sandbox = FromSpec(ToSpec(wanted, defaults));
  EXPECT_TRUE(sandbox.retention().has_max_ended_executions());
  EXPECT_EQ(sandbox.retention().max_ended_executions(), 0);
  EXPECT_EQ(sandbox.retention().max_ended_age().seconds(), 1);
  EXPECT_EQ(sandbox.retention().max_ended_age().nanos(), 500'000'000);
}

TEST(ConversionTest, SendsTheOverflowPolicyToTheSupervisor) {
  corral::v1::Command command = True();
  EXPECT_EQ(ToCommandSpec(command, "").overflow(),
            wire::CommandSpec::DROP_OLDEST);
  command.mutable_output()->set_overflow(corral::v1::OutputPolicy::BLOCK);
  EXPECT_EQ(ToCommandSpec(command, "").overflow(), wire::CommandSpec::BLOCK);
  command.mutable_output()->set_overflow(corral::v1::OutputPolicy::KILL);
  EXPECT_EQ(ToCommandSpec(command, "").overflow(), wire::CommandSpec::KILL);
}

TEST(ConversionTest, TimeoutsReachTheSupervisor) {
  corral::v1::Command command = True();
  EXPECT_FALSE(ToCommandSpec(command, "").has_drain_ns());
  command.mutable_cpu_timeout()->set_seconds(3);
  command.mutable_drain_timeout();
  EXPECT_EQ(ToCommandSpec(command, "").cpu_timeout_ns(), 3'000'000'000);
  EXPECT_TRUE(ToCommandSpec(command, "").has_drain_ns());
}

TEST(ConversionTest, AnEndListsTheProcessesThatWereKilledWithIt) {
  wire::ExecutionRecord record;
  record.set_state(wire::ExecutionRecord::EXITED);
  wire::ExitRecord::Killed* killed = record.mutable_exit()->add_killed();
  killed->set_pid(7);
  killed->set_command("sleep");
  record.mutable_exit()->set_killed_count(40);
  corral::v1::Execution execution;
  MergeRecord(record, &execution);
  EXPECT_EQ(execution.exit().killed(0).pid(), 7);
  EXPECT_EQ(execution.exit().killed(0).command(), "sleep");
  EXPECT_EQ(execution.exit().killed_count(), 40);
}

}  // namespace
}  // namespace server
