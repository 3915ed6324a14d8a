#include "bridge/cli/report/trace_report.h"

#include <cstdint>
#include <string>

#include "corral/v1/sandbox.pb.h"
#include "corral/v1/trace.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/time_util.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using corral::v1::ExecutionTrace;
using google::protobuf::util::TimeUtil;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kBegin = 1'000'000'000;

google::protobuf::Duration Micros(int64_t micros) {
  return TimeUtil::MicrosecondsToDuration(micros);
}

// Received `micros` after the client's begin.
ExecutionTrace ReceivedAfter(int64_t micros) {
  ExecutionTrace trace;
  *trace.mutable_receive_time() =
      TimeUtil::NanosecondsToTimestamp(kBegin + 1000 * micros);
  *trace.mutable_admitted() = Micros(2);
  *trace.mutable_sent() = Micros(30);
  *trace.mutable_accepted() = Micros(90);
  *trace.mutable_prepared() = Micros(150);
  *trace.mutable_spawning() = Micros(190);
  *trace.mutable_executing() = Micros(250);
  return trace;
}

// The same of a command that ran to its end.
ExecutionTrace EndedAfter(int64_t micros) {
  ExecutionTrace trace = ReceivedAfter(micros);
  *trace.mutable_executed() = Micros(500);
  *trace.mutable_first_byte() = Micros(1100);
  *trace.mutable_exited() = Micros(1200);
  *trace.mutable_drained() = Micros(1210);
  *trace.mutable_recorded() = Micros(1250);
  *trace.mutable_reported() = Micros(1300);
  *trace.mutable_answered() = Micros(1320);
  return trace;
}

TEST(StageTableTest, ShowsWhenEachStageBeganAndHowLongItTook) {
  EXPECT_EQ(StageTable(EndedAfter(100), {kBegin, 1'500'999}),
            "stage                 at        took\n"
            "client                 0         100\n"
            "queue                100           2\n"
            "server               102          28\n"
            "supervisor           130          60\n"
            "prepare              190          60\n"
            "spawner              250          40\n"
            "child                290          60\n"
            "exec                 350         250\n"
            "first byte           600         600\n"
            "exit                1200         100\n"
            "drain               1300          10\n"
            "record              1310          40\n"
            "report              1350          50\n"
            "answer              1400          20\n"
            "client              1420          80\n"
            "total                           1500\n");
}

TEST(StageTableTest, LeavesOutWhatACommandHasNotReached) {
  ExecutionTrace trace = ReceivedAfter(100);
  *trace.mutable_recorded() = Micros(260);
  *trace.mutable_reported() = Micros(300);
  *trace.mutable_answered() = Micros(310);
  const std::string table = StageTable(trace, {kBegin, 450'000});
  EXPECT_THAT(table, Not(HasSubstr("exec")));
  EXPECT_THAT(table, Not(HasSubstr("exit")));
  EXPECT_THAT(table, HasSubstr("child                290          60\n"
                               "record               350          10\n"
                               "report               360          40\n"
                               "answer               400          10\n"
                               "client               410          40\n"
                               "total                            450\n"));
}

TEST(StageTableTest, ShowsAFirstByteThatWasReadAfterTheExit) {
  ExecutionTrace trace = EndedAfter(0);
  *trace.mutable_first_byte() = Micros(1205);
  EXPECT_THAT(StageTable(trace, {kBegin, 1'400'000}),
              HasSubstr("exec                 250         250\n"
                        "exit                 500         700\n"
                        "first byte          1200           5\n"
                        "drain               1205           5\n"));
}

TEST(StageTableTest, PutsNoStageOfTheServerBeforeTheRequest) {
  EXPECT_THAT(StageTable(EndedAfter(-5000), {kBegin, 1'500'000}),
              HasSubstr("client                 0           0\n"
                        "queue                  0           2\n"));
}

TEST(StageTableTest, PutsNoStageOfTheServerAfterTheAnswer) {
  const std::string table =
      StageTable(EndedAfter(7'000'000), {kBegin, 1'500'000});
  EXPECT_THAT(table, HasSubstr("client                 0         180\n"
                               "queue                180           2\n"));
  EXPECT_THAT(table, HasSubstr("client              1500           0\n"
                               "total                           1500\n"));
}

TEST(StageTableTest, ShowsTheServersStagesThoughTheClientHasTimedLess) {
  EXPECT_THAT(StageTable(EndedAfter(0), {kBegin, 1'000'000}),
              HasSubstr("client              1320           0\n"
                        "total                           1320\n"));
}

TEST(StageTableTest, IsEmptyWithoutATrace) {
  EXPECT_EQ(StageTable(ExecutionTrace(), {kBegin, 1'500'000}), "");
}

// A sandbox that was made before its request came, or for it.
corral::v1::Sandbox Made(bool ahead) {
  corral::v1::Sandbox sandbox;
  sandbox.set_profile(corral::v1::Sandbox::DEFAULT);
  sandbox.mutable_create_time()->set_seconds(5);
  corral::v1::SandboxTrace& trace = *sandbox.mutable_trace();
  trace.mutable_prepare_time()->set_seconds(ahead ? 4 : 6);
  *trace.mutable_admission() = Micros(1);
  *trace.mutable_record() = Micros(2000);
  *trace.mutable_supervisor() = Micros(3);
  *trace.mutable_groups() = Micros(4);
  *trace.mutable_namespaces() = Micros(5);
  *trace.mutable_join() = Micros(6);
  *trace.mutable_mounts() = Micros(7);
  *trace.mutable_init() = Micros(8);
  *trace.mutable_spawner() = Micros(9);
  *trace.mutable_filter() = Micros(10);
  *trace.mutable_ready() = Micros(11);
  *trace.mutable_limits() = Micros(12);
  *trace.mutable_workspaces() = Micros(13);
  return sandbox;
}

TEST(CreationTableTest, ShowsHowLongEachStepTookAndWhichWereTakenAhead) {
  EXPECT_EQ(CreationTable(Made(/*ahead=*/true)),
            "sandbox                         took\n"
            "admission                          1\n"
            "record                          2000\n"
            "supervisor                         3\n"
            "  groups                           4  ahead\n"
            "  namespaces                       5  ahead\n"
            "  join                             6  ahead\n"
            "  mounts                           7  ahead\n"
            "  init                             8  ahead\n"
            "  spawner                          9  ahead\n"
            "  filter                          10  ahead\n"
            "  ready                           11  ahead\n"
            "  limits                          12\n"
            "  workspaces                      13\n");
}

TEST(CreationTableTest, ShowsThatASandboxWasCompletedAhead) {
  corral::v1::Sandbox sandbox = Made(/*ahead=*/true);
  sandbox.mutable_trace()->set_completed_ahead(true);
  EXPECT_THAT(CreationTable(sandbox),
              HasSubstr("  limits                          12  ahead\n"
                        "  workspaces                      13  ahead\n"));
}

TEST(CreationTableTest, ShowsNoStepAsTakenAheadOfARequestThatWaitedForIt) {
  EXPECT_THAT(CreationTable(Made(/*ahead=*/false)), Not(HasSubstr("ahead")));
}

TEST(CreationTableTest, ShowsTheSpawnerOfAnotherProfileAsAStepOfTheRequest) {
  corral::v1::Sandbox sandbox = Made(/*ahead=*/true);
  sandbox.set_profile(corral::v1::Sandbox::STRICT);
  EXPECT_THAT(CreationTable(sandbox),
              HasSubstr("  init                             8  ahead\n"
                        "  spawner                          9\n"
                        "  filter                          10\n"
                        "  ready                           11\n"));
}

TEST(CreationTableTest, ShowsTheLastSteps) {
  corral::v1::Sandbox sandbox = Made(/*ahead=*/true);
  *sandbox.mutable_trace()->mutable_protection() = Micros(14);
  *sandbox.mutable_trace()->mutable_way_out() = Micros(15);
  EXPECT_THAT(CreationTable(sandbox),
              HasSubstr("  workspaces                      13\n"
                        "  protection                      14\n"
                        "  way out                         15\n"));
}

TEST(CreationTableTest, IsEmptyIfNothingIsKnown) {
  EXPECT_EQ(CreationTable(corral::v1::Sandbox()), "");
}

}  // namespace
}  // namespace bridge
