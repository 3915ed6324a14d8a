#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
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

}  // namespace
}  // namespace server
