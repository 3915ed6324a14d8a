#include "bridge/cli/report/trace_report.h"

#include <cstdint>
#include <string>

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

}  // namespace
}  // namespace bridge
