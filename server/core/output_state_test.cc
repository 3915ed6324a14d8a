#include "server/core/output_state.h"

#include <cstdint>
#include <vector>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"

namespace server {
namespace {

namespace wire = ::corral::supervisor::v1;
using corral::v1::STDERR;
using corral::v1::STDOUT;
using corral::v1::TERMINAL;
using sandbox::OutputLogState;

OutputLogState State(uint64_t begin, uint64_t end) {
  OutputLogState state;
  state.begin = begin;
  state.end = end;
  return state;
}

TEST(OutputStateTest, KnowsNothingBeforeTheFirstReport) {
  OutputState output;
  EXPECT_FALSE(output.Find(STDOUT).has_value());
  output.Merge(STDERR, State(0, 0));
  EXPECT_FALSE(output.Find(STDOUT).has_value());
  EXPECT_TRUE(output.Find(STDERR).has_value());
}

TEST(OutputStateTest, AnOlderReportChangesNothing) {
  OutputState output;
  OutputLogState latest = State(4, 9);
  latest.gap_begin = 5;
  latest.gap_end = 8;
  latest.closed = true;
  output.Merge(STDOUT, latest);
  OutputLogState older = State(3, 7);
  older.gap_begin = 5;
  older.gap_end = 6;
  output.Merge(STDOUT, older);
  const OutputLogState known = *output.Find(STDOUT);
  EXPECT_EQ(known.begin, 4);
  EXPECT_EQ(known.end, 9);
  EXPECT_EQ(known.gap_begin, 5);
  EXPECT_EQ(known.gap_end, 8);
  EXPECT_TRUE(known.closed);
  EXPECT_FALSE(known.expired);
  older.gap_begin = 6;
  older.gap_end = 8;
  output.Merge(STDOUT, older);
  EXPECT_EQ(output.Find(STDOUT)->gap_begin, 5);
}

TEST(OutputStateTest, TakesInEveryFieldOfALaterReport) {
  OutputState output;
  output.Merge(STDERR, State(0, 2));
  wire::StreamState report;
  report.set_stream(wire::STDERR);
  report.set_begin(1);
  report.set_end(9);
  report.set_gap_begin(3);
  report.set_gap_end(5);
  report.set_closed(true);
  output.Merge(report);
  const OutputLogState known = *output.Find(STDERR);
  EXPECT_EQ(known.begin, 1);
  EXPECT_EQ(known.end, 9);
  EXPECT_EQ(known.gap_begin, 3);
  EXPECT_EQ(known.gap_end, 5);
  EXPECT_TRUE(known.closed);
}

TEST(OutputStateTest, NothingIsKeptOfOutputThatExpired) {
  OutputState output;
  OutputLogState state = State(0, 9);
  state.gap_begin = 2;
  state.gap_end = 4;
  output.Merge(STDOUT, state);
  wire::StreamState report;
  report.set_stream(wire::STDOUT);
  report.set_end(9);
  report.set_expired(true);
  output.Merge(report);
  EXPECT_TRUE(output.Find(STDOUT)->expired);
  EXPECT_EQ(output.Find(STDOUT)->begin, 9);
  EXPECT_EQ(output.Find(STDOUT)->gap_end, 0);
  // A report from before does not bring it back.
  output.Merge(STDOUT, state);
  EXPECT_TRUE(output.Find(STDOUT)->expired);
  EXPECT_EQ(output.Find(STDOUT)->begin, 9);
  EXPECT_EQ(output.Find(STDOUT)->gap_end, 0);
}

TEST(OutputStateTest, KeepsTheStreamsOfAnExecutionApart) {
  for (const std::vector<wire::Stream>& streams :
       {std::vector<wire::Stream>{wire::STDERR, wire::STDOUT},
        std::vector<wire::Stream>{wire::TERMINAL}}) {
    OutputState output;
    for (const wire::Stream stream : streams) {
      wire::StreamState report;
      report.set_stream(stream);
      report.set_end(stream + 1);
      output.Merge(report);
    }
    const bool terminal = streams.size() == 1;
    EXPECT_EQ(output.Find(STDOUT).has_value(), !terminal);
    EXPECT_EQ(output.Find(STDERR).has_value(), !terminal);
    EXPECT_EQ(output.Find(TERMINAL).has_value(), terminal);
    EXPECT_EQ(output.Find(terminal ? TERMINAL : STDOUT)->end, terminal ? 3 : 1);
  }
}

TEST(OutputStateTest, ForgetsWhereTheGapOfExpiredOutputBegan) {
  OutputState output;
  OutputLogState state = State(0, 9);
  state.gap_begin = 2;
  state.gap_end = 4;
  output.Merge(STDOUT, state);
  state.expired = true;
  output.Merge(STDOUT, state);
  EXPECT_EQ(output.Find(STDOUT)->gap_begin, 0);
}

TEST(OutputStateTest, IgnoresAStreamThatNoExecutionHasBesideTheOthers) {
  OutputState output;
  output.Merge(STDERR, State(0, 1));
  output.Merge(STDOUT, State(0, 2));
  output.Merge(TERMINAL, State(0, 3));
  EXPECT_EQ(output.Find(STDERR)->end, 1);
  EXPECT_EQ(output.Find(STDOUT)->end, 2);
  EXPECT_FALSE(output.Find(TERMINAL).has_value());
}

}  // namespace
}  // namespace server
