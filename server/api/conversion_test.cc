#include "server/api/conversion.h"

#include <cerrno>
#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"

namespace server {
namespace {

using ::testing::ElementsAre;

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
  defaults.limits.set_output_bytes(2 << 20);
  corral::v1::Sandbox sandbox = FromSpec(ToSpec(wanted, defaults));
  EXPECT_FALSE(sandbox.limits().has_file_bytes());
  EXPECT_FALSE(sandbox.limits().has_disk_bytes_per_second());
  EXPECT_FALSE(sandbox.limits().has_disk_operations_per_second());
  EXPECT_FALSE(sandbox.limits().has_disk_bytes());
  EXPECT_FALSE(sandbox.limits().has_disk_inodes());
  EXPECT_EQ(sandbox.limits().pids(), 10);
  EXPECT_EQ(sandbox.limits().memory_bytes(), 1 << 30);
  EXPECT_EQ(sandbox.limits().output_bytes(), 2 << 20);
  EXPECT_FALSE(sandbox.limits().has_cpu_millis());
  defaults.limits.set_cpu_millis(1500);
  defaults.limits.set_file_bytes(8192);
  defaults.limits.set_disk_bytes_per_second(1 << 20);
  defaults.limits.set_disk_operations_per_second(20);
  defaults.limits.set_disk_bytes(2 << 20);
  defaults.limits.set_disk_inodes(30);
  sandbox = FromSpec(ToSpec(wanted, defaults));
  EXPECT_EQ(sandbox.limits().cpu_millis(), 1500);
  EXPECT_EQ(sandbox.limits().file_bytes(), 8192);
  EXPECT_EQ(sandbox.limits().disk_bytes_per_second(), 1 << 20);
  EXPECT_EQ(sandbox.limits().disk_operations_per_second(), 20);
  EXPECT_EQ(sandbox.limits().disk_bytes(), 2 << 20);
  EXPECT_EQ(sandbox.limits().disk_inodes(), 30);
  EXPECT_EQ(sandbox.workspace().path(), "/build");
  EXPECT_EQ(sandbox.further_workspaces(0).path(), "/lib");
  EXPECT_TRUE(sandbox.further_workspaces(0).read_only());
}

TEST(ConversionTest, ASandboxMayRefuseADefaultThatKillsAllProcesses) {
  corral::v1::Sandbox wanted;
  SandboxDefaults defaults;
  EXPECT_FALSE(ToSpec(wanted, defaults).kill_all_on_oom());
  EXPECT_FALSE(
      FromSpec(ToSpec(wanted, defaults)).limits().has_kill_all_on_oom());
  defaults.limits.set_kill_all_on_oom(true);
  EXPECT_TRUE(FromSpec(ToSpec(wanted, defaults)).limits().kill_all_on_oom());
  wanted.mutable_limits()->set_kill_all_on_oom(false);
  EXPECT_FALSE(ToSpec(wanted, defaults).kill_all_on_oom());
}

TEST(ConversionTest, AMountKeepsItsPlaceAndItsRights) {
  corral::v1::Sandbox wanted;
  wanted.add_mounts()->set_source("/opt/tool/");
  corral::v1::Mount* const home = wanted.add_mounts();
  home->set_source("/srv/home");
  home->set_target("/home/corral/");
  home->set_writable(true);
  const corral::v1::Sandbox sandbox =
      FromSpec(ToSpec(wanted, SandboxDefaults()));
  ASSERT_EQ(sandbox.mounts_size(), 2);
  EXPECT_EQ(sandbox.mounts(0).source(), "/opt/tool");
  EXPECT_EQ(sandbox.mounts(0).target(), "/opt/tool");
  EXPECT_FALSE(sandbox.mounts(0).writable());
  EXPECT_EQ(sandbox.mounts(1).source(), "/srv/home");
  EXPECT_EQ(sandbox.mounts(1).target(), "/home/corral");
  EXPECT_TRUE(sandbox.mounts(1).writable());
}

TEST(ConversionTest, AWorkspaceShowsAllPathsThatAreReadOnly) {
  corral::v1::Sandbox wanted;
  wanted.mutable_workspace()->set_path("/w");
  wanted.mutable_workspace()->add_read_only_paths("ci");
  wanted.mutable_workspace()->set_protect_host_tools(true);
  wanted.add_further_workspaces()->set_path("/further");
  wanted.mutable_further_workspaces(0)->add_read_only_paths("b");
  wanted.mutable_further_workspaces(0)->add_read_only_paths("a");
  const corral::v1::Sandbox sandbox =
      FromSpec(ToSpec(wanted, SandboxDefaults()));
  EXPECT_THAT(sandbox.workspace().read_only_paths(),
              testing::IsSupersetOf({"ci", ".git/hooks", ".vscode"}));
  EXPECT_FALSE(sandbox.workspace().protect_host_tools());
  EXPECT_THAT(sandbox.further_workspaces(0).read_only_paths(),
              ElementsAre("a", "b"));
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

TEST(ConversionTest, EveryStreamKeepsItsName) {
  EXPECT_EQ(ToWire(corral::v1::STDOUT), wire::STDOUT);
  EXPECT_EQ(ToWire(corral::v1::STDERR), wire::STDERR);
  EXPECT_EQ(ToWire(corral::v1::TERMINAL), wire::TERMINAL);
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

// Returns the message as text, so that a field which is missing or not
// expected fails the test.
std::string Text(const google::protobuf::Message& message) {
  return message.ShortDebugString();
}
template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message))
      << text;
  return message;
}

TEST(ConversionTest, EveryFieldOfARecordReachesTheClient) {
  wire::ExecutionRecord record;
  record.set_state(wire::ExecutionRecord::EXITED);
  record.set_create_time_ns(1'000'000'000);
  record.set_start_time_ns(2'000'000'000);
  record.set_end_time_ns(3'000'000'000);
  record.mutable_exit()->set_wait_status(SIGSEGV | 0x80);  // dumped core
  record.mutable_exit()->set_cause(wire::ExitRecord::OUT_OF_MEMORY);
  record.mutable_exit()->set_output_open(true);
  record.mutable_failure()->set_stage(wire::StartFailure::CHDIR);
  record.mutable_failure()->set_errno_value(ENOENT);
  record.mutable_usage()->set_user_time_ns(4'000'000'000);
  record.mutable_usage()->set_system_time_ns(5'000'000'000);
  record.mutable_usage()->set_wall_time_ns(6'000'000'000);
  record.mutable_usage()->set_memory_peak_bytes(7);
  record.mutable_usage()->set_oom_kills(8);
  record.mutable_usage()->set_disk_read_bytes(512);
  record.mutable_usage()->set_disk_written_bytes(1024);
  record.mutable_input()->set_accepted_offset(9);
  record.mutable_input()->set_closed(true);
  corral::v1::Execution execution;
  MergeRecord(record, &execution);
  const auto expected = Parse<corral::v1::Execution>(
      "state: EXITED create_time { seconds: 1 } start_time { seconds: 2 } "
      "end_time { seconds: 3 } exit { signal: 11 core_dumped: true cause: "
      "OUT_OF_MEMORY output_open: true } start_failure { stage: CHDIR "
      "errno_value: 2 message: 'CHDIR: No such file or directory' } usage { "
      "user_time { seconds: 4 } system_time { seconds: 5 } wall_time { "
      "seconds: 6 } memory_peak_bytes: 7 oom_kills: 8 disk_read_bytes: 512 "
      "disk_written_bytes: 1024 } input { "
      "accepted_offset: 9 closed: true }");
  EXPECT_EQ(Text(execution), Text(expected));
  // A later record replaces nothing that it does not have.
  wire::ExecutionRecord later;
  later.set_state(wire::ExecutionRecord::EXITED);
  MergeRecord(later, &execution);
  EXPECT_EQ(Text(execution), Text(expected));
}

TEST(ConversionTest, AnExitCodeIsNotASignal) {
  wire::ExecutionRecord record;
  record.set_state(wire::ExecutionRecord::EXITED);
  record.mutable_exit()->set_wait_status(7 << 8);
  record.mutable_exit()->set_cause(wire::ExitRecord::NORMAL);
  corral::v1::Execution execution;
  MergeRecord(record, &execution);
  EXPECT_EQ(Text(execution.exit()), "code: 7 cause: NORMAL");
}

TEST(ConversionTest, AnUnknownErrnoHasAText) {
  wire::ExecutionRecord record;
  record.set_state(wire::ExecutionRecord::FAILED_TO_START);
  record.mutable_failure()->set_errno_value(9999);
  corral::v1::Execution execution;
  MergeRecord(record, &execution);
  EXPECT_THAT(execution.start_failure().message(),
              testing::HasSubstr("unknown error"));
}

TEST(ConversionTest, EveryFieldOfALogReachesTheClient) {
  sandbox::OutputLogState state;
  state.begin = 1;
  state.end = 2;
  state.gap_begin = 3;
  state.gap_end = 4;
  state.closed = true;
  EXPECT_EQ(Text(ToStreamState(corral::v1::STDERR, state)),
            Text(Parse<corral::v1::StreamState>(
                "stream: STDERR begin_offset: 1 end_offset: 2 closed: true "
                "gap_begin_offset: 3 gap_end_offset: 4")));
  sandbox::OutputLogState expired;
  expired.expired = true;
  EXPECT_TRUE(ToStreamState(corral::v1::STDERR, expired).expired());
}

TEST(ConversionTest, EveryFieldOfASandboxSurvivesItsSpec) {
  const std::string wanted =
      "workspace { path: '/w' read_only: true } limits { memory_bytes: 5000000 "
      "pids: 9 cpu_millis: 100 output_bytes: 2000000 } lifetime { max_age { "
      "seconds: 60 } idle_timeout { seconds: 61 } lease_timeout { seconds: 62 "
      "} } further_workspaces { path: '/a' read_only: true } network: "
      "ALLOW_LIST egress_rules { host: 'a.com' ports: 22 protocol: TCP } "
      "profile: STRICT retention { max_ended_executions: 3 max_ended_age { "
      "seconds: 4 } }";
  wire::SandboxSpec spec =
      ToSpec(Parse<corral::v1::Sandbox>(wanted), SandboxDefaults());
  spec.set_name("box");
  spec.set_create_time_ns(1'000'000'000);
  EXPECT_EQ(Text(FromSpec(spec)),
            Text(Parse<corral::v1::Sandbox>(absl::StrCat(
                wanted,
                "name: 'box' create_time { seconds: 1 } expire_time { seconds: "
                "61 }"))));
  EXPECT_THAT(WorkspacesOf(spec), ElementsAre("/w", "/a"));
}

TEST(ConversionTest, ASandboxWithoutLimitsShowsNone) {
  const wire::SandboxSpec spec =
      ToSpec(corral::v1::Sandbox(), SandboxDefaults());
  EXPECT_EQ(Text(FromSpec(spec)),
            Text(Parse<corral::v1::Sandbox>(
                "limits { } network: NONE profile: DEFAULT create_time { } "
                "retention { max_ended_executions: 0 max_ended_age { } }")));
  EXPECT_THAT(WorkspacesOf(spec), testing::IsEmpty());
}

TEST(ConversionTest, AWayOutHasTheServersDefaultsAndTheRulesOfTheRequest) {
  SandboxDefaults defaults;
  defaults.egress.mutable_policy()->set_ipv6(true);
  const auto open = Parse<corral::v1::Sandbox>(
      "network: ALLOW_LIST egress_rules { host: 'a.com' }");
  const wire::SandboxSpec spec = ToSpec(open, defaults);
  EXPECT_EQ(spec.egress().policy().rules_size(), 1);
  EXPECT_TRUE(spec.egress().policy().ipv6());
  EXPECT_FALSE(ToSpec(corral::v1::Sandbox(), defaults).has_egress());
}

TEST(ConversionTest, AWayOutHasTheServicesThatTheRequestNames) {
  SandboxDefaults defaults;
  for (const char* name : {"model", "forge"}) {
    defaults.egress.mutable_policy()->add_services()->set_name(name);
    defaults.egress.add_credentials()->set_service(name);
  }
  const wire::SandboxSpec spec =
      ToSpec(Parse<corral::v1::Sandbox>(
                 "network: ALLOW_LIST egress_services: 'forge'"),
             defaults);
  ASSERT_EQ(spec.egress().credentials_size(), 1);
  EXPECT_EQ(spec.egress().credentials(0).service(), "forge");
  EXPECT_THAT(FromSpec(spec).egress_services(), ElementsAre("forge"));
}

}  // namespace
}  // namespace server
