#include "sandbox/supervisor/stage_times.h"

#include "gtest/gtest.h"
#include "sandbox/base/instant.h"

namespace sandbox {
namespace {

class StageTimesTest : public ::testing::Test {
 protected:
  StageTimesTest() {
    start_.mutable_trace()->set_receive_unix_ns(7);
    start_.mutable_trace()->set_admitted_ns(10);
    start_.mutable_trace()->set_sent_ns(20);
    start_.set_trace_begin_ns(1000);
  }
  StageTimes Make() {
    return StageTimes(start_, [this] { return now_; });
  }
  static wire::ExecutionTrace TraceOf(const StageTimes& times) {
    wire::ExecutionRecord record;
    times.AddTo(&record);
    return record.trace();
  }

  wire::StartExecution start_;
  int64_t now_ = 1030;
};

TEST_F(StageTimesTest, CountFromTheMomentThatTheServerNames) {
  StageTimes times = Make();
  now_ = 1040;
  times.Prepared();
  times.Spawned({1050, 1060, 1070});
  now_ = 1080;
  times.Output();
  now_ = 1090;
  times.Exited();
  now_ = 1100;
  times.Drained();
  now_ = 1110;
  times.Recorded();
  const wire::ExecutionTrace trace = TraceOf(times);
  EXPECT_EQ(trace.receive_unix_ns(), 7);
  EXPECT_EQ(trace.admitted_ns(), 10);
  EXPECT_EQ(trace.sent_ns(), 20);
  EXPECT_EQ(trace.accepted_ns(), 30);
  EXPECT_EQ(trace.prepared_ns(), 40);
  EXPECT_EQ(trace.spawning_ns(), 50);
  EXPECT_EQ(trace.executing_ns(), 60);
  EXPECT_EQ(trace.executed_ns(), 70);
  EXPECT_EQ(trace.first_byte_ns(), 80);
  EXPECT_EQ(trace.exited_ns(), 90);
  EXPECT_EQ(trace.drained_ns(), 100);
  EXPECT_EQ(trace.recorded_ns(), 110);
}

TEST_F(StageTimesTest, KeepTheFirstOutput) {
  StageTimes times = Make();
  times.Output();
  now_ = 2000;
  times.Output();
  EXPECT_EQ(TraceOf(times).first_byte_ns(), 30);
}

TEST_F(StageTimesTest, LackWhatTheSpawnerDidNotReach) {
  StageTimes times = Make();
  times.Spawned({1050, 1060, 0});
  EXPECT_EQ(TraceOf(times).executing_ns(), 60);
  EXPECT_EQ(TraceOf(times).executed_ns(), 0);
  EXPECT_EQ(TraceOf(times).first_byte_ns(), 0);
}

TEST_F(StageTimesTest, ShowAMomentThatHasComeAtOnce) {
  now_ = 1000;
  EXPECT_EQ(TraceOf(Make()).accepted_ns(), 1);
}

TEST_F(StageTimesTest, AreNotTakenUnlessTheyAreWanted) {
  start_.clear_trace();
  int readings = 0;
  StageTimes times(start_, [&readings] { return ++readings; });
  times.Prepared();
  times.Spawned({1, 2, 3});
  times.Output();
  times.Exited();
  times.Drained();
  times.Recorded();
  wire::ExecutionRecord record;
  times.AddTo(&record);
  EXPECT_FALSE(record.has_trace());
  EXPECT_EQ(readings, 0);
}

TEST_F(StageTimesTest, AreReadFromTheClockOfTheHost) {
  const int64_t before = MonotonicNanoseconds();
  start_.set_trace_begin_ns(before);
  const StageTimes times(start_);
  const int64_t after = MonotonicNanoseconds();
  EXPECT_GE(TraceOf(times).accepted_ns(), 1);
  EXPECT_LE(TraceOf(times).accepted_ns(), after - before + 1);
}

}  // namespace
}  // namespace sandbox
