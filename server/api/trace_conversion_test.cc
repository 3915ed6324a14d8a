#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gtest/gtest.h"
#include "server/api/conversion.h"

namespace server {
namespace {

TEST(TraceConversionTest, ATraceHasTheMomentsThatHaveCome) {
  wire::ExecutionRecord record;
  wire::ExecutionTrace& reported = *record.mutable_trace();
  reported.set_receive_unix_ns(1'000'000'000);
  reported.set_admitted_ns(10);
  reported.set_sent_ns(20);
  reported.set_accepted_ns(30);
  corral::v1::Execution execution;
  MergeRecord(record, &execution);
  EXPECT_EQ(execution.trace().ShortDebugString(),
            "receive_time { seconds: 1 } admitted { nanos: 10 } "
            "sent { nanos: 20 } accepted { nanos: 30 }");
  reported.set_prepared_ns(40);
  reported.set_spawning_ns(50);
  reported.set_executing_ns(60);
  reported.set_executed_ns(70);
  reported.set_first_byte_ns(80);
  reported.set_exited_ns(90);
  reported.set_drained_ns(100);
  reported.set_recorded_ns(110);
  MergeRecord(record, &execution);
  EXPECT_EQ(execution.trace().ShortDebugString(),
            "receive_time { seconds: 1 } admitted { nanos: 10 } "
            "sent { nanos: 20 } accepted { nanos: 30 } prepared { nanos: 40 } "
            "spawning { nanos: 50 } executing { nanos: 60 } "
            "executed { nanos: 70 } first_byte { nanos: 80 } "
            "exited { nanos: 90 } drained { nanos: 100 } "
            "recorded { nanos: 110 }");
}

TEST(TraceConversionTest, ACreationHasTheStepsThatWereTaken) {
  wire::SandboxTrace reported;
  corral::v1::Sandbox sandbox;
  AddTrace(reported, &sandbox);
  EXPECT_FALSE(sandbox.has_trace());
  reported.set_prepare_unix_ns(1'000'000'000);
  reported.set_groups_ns(10);
  AddTrace(reported, &sandbox);
  EXPECT_EQ(sandbox.trace().ShortDebugString(),
            "prepare_time { seconds: 1 } groups { nanos: 10 }");
  reported.set_namespaces_ns(20);
  reported.set_join_ns(30);
  reported.set_mounts_ns(40);
  reported.set_init_ns(50);
  reported.set_spawner_ns(60);
  reported.set_filter_ns(70);
  reported.set_ready_ns(80);
  reported.set_limits_ns(90);
  reported.set_workspaces_ns(100);
  reported.set_protection_ns(110);
  reported.set_way_out_ns(120);
  AddTrace(reported, &sandbox);
  EXPECT_EQ(sandbox.trace().ShortDebugString(),
            "prepare_time { seconds: 1 } groups { nanos: 10 } "
            "namespaces { nanos: 20 } join { nanos: 30 } "
            "mounts { nanos: 40 } init { nanos: 50 } spawner { nanos: 60 } "
            "filter { nanos: 70 } ready { nanos: 80 } limits { nanos: 90 } "
            "workspaces { nanos: 100 } protection { nanos: 110 } "
            "way_out { nanos: 120 }");
}

}  // namespace
}  // namespace server
