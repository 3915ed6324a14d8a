// Where the time of real commands goes. No test expects a speed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/trace.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/time_util.h"
#include "gtest/gtest.h"
#include "sandbox/base/instant.h"
#include "tests/integration/integration_test.h"
#include "tests/process.h"

namespace tests {
namespace {

using ::corral::v1::ExecutionTrace;
using ::google::protobuf::Duration;
using ::google::protobuf::util::TimeUtil;
using ::sandbox::MonotonicNanoseconds;
using ::testing::AllOf;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::StartsWith;

corral::v1::Command Traced(const std::string& script) {
  corral::v1::Command command = MakeCommand({"/bin/sh", "-c", script});
  command.set_trace(true);
  return command;
}

// The moments from the request to the program's execution.
std::vector<Duration> StartOf(const ExecutionTrace& trace) {
  return {trace.admitted(), trace.sent(),     trace.accepted(),
          trace.prepared(), trace.spawning(), trace.executing(),
          trace.executed()};
}

// Expects that every moment has come, and none before the one before it.
void ExpectAscending(const std::vector<Duration>& moments) {
  Duration last = TimeUtil::NanosecondsToDuration(0);
  for (size_t i = 0; i < moments.size(); ++i) {
    EXPECT_GT(moments[i], TimeUtil::NanosecondsToDuration(0)) << "moment " << i;
    EXPECT_LE(last, moments[i]) << "moment " << i;
    last = moments[i];
  }
}

class TraceTest : public IntegrationTest {
 protected:
  // Replaces the server, as after kill -9.
  void Restart() {
    server_.Kill();
    ASSERT_NO_FATAL_FAILURE(server_.Start());
    client_ = std::make_unique<Client>(server_.Connect());
  }
};

TEST_F(TraceTest, ShowsWhereTheTimeOfACommandWent) {
  const std::string sandbox = CreateSandbox();
  const int64_t begin = MonotonicNanoseconds();
  const ExecutionTrace trace =
      client_->Run(sandbox, Traced("echo out"))->ended.trace();
  const int64_t measured = MonotonicNanoseconds() - begin;
  std::vector<Duration> moments = StartOf(trace);
  for (const Duration& moment :
       {trace.exited(), trace.drained(), trace.recorded(), trace.reported(),
        trace.answered()}) {
    moments.push_back(moment);
  }
  ExpectAscending(moments);
  ExpectAscending({trace.executing(), trace.first_byte(), trace.drained()});
  // All of it lies within the call that the client has measured.
  EXPECT_LE(TimeUtil::DurationToNanoseconds(trace.answered()), measured);
}

TEST_F(TraceTest, CountsTheCreationOfASandboxForOneCommandAsAWait) {
  const ExecutionTrace trace =
      client_->Run(kTenant, Traced("true"))->ended.trace();
  ExpectAscending(StartOf(trace));
  EXPECT_FALSE(trace.has_first_byte());
}

TEST_F(TraceTest, LacksTheExecutionOfAProgramThatDoesNotExist) {
  corral::v1::Command command = MakeCommand({"/nonexistent"});
  command.set_trace(true);
  const corral::v1::Execution execution =
      client_->Start(CreateSandbox(), command);
  EXPECT_EQ(execution.state(), corral::v1::Execution::FAILED_TO_START);
  std::vector<Duration> moments = StartOf(execution.trace());
  moments.pop_back();
  ExpectAscending(moments);
  EXPECT_FALSE(execution.trace().has_executed());
  EXPECT_FALSE(execution.trace().has_first_byte());
  EXPECT_FALSE(execution.trace().has_exited());
  EXPECT_FALSE(execution.trace().has_drained());
}

TEST_F(TraceTest, SurvivesTheServer) {
  const std::string sandbox = CreateSandbox();
  const corral::v1::Execution ended =
      client_->Run(sandbox, Traced("echo out"))->ended;
  corral::v1::Command waits = Traced("read x");
  waits.set_stdin(true);
  const std::string running = client_->Start(sandbox, waits).name();
  Restart();
  const ExecutionTrace kept = client_->Get(ended.name()).trace();
  ExpectAscending(StartOf(kept));
  EXPECT_EQ(kept.receive_time(), ended.trace().receive_time());
  EXPECT_EQ(kept.drained(), ended.trace().drained());
  EXPECT_FALSE(kept.has_reported());
  client_->WriteInput(running, 0, "x\n");
  const ExecutionTrace late = client_->Wait(running).trace();
  std::vector<Duration> moments = StartOf(late);
  for (const Duration& moment :
       {late.exited(), late.drained(), late.recorded()}) {
    moments.push_back(moment);
  }
  ExpectAscending(moments);
  EXPECT_FALSE(late.has_reported());
}

// Returns the first word and the last number of each line that has a number.
std::vector<std::pair<std::string, int64_t>> Rows(const std::string& table) {
  std::vector<std::pair<std::string, int64_t>> rows;
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t micros = 0;
    if (!words.empty() && absl::SimpleAtoi(words.back(), &micros)) {
      rows.emplace_back(words.front(), micros);
    }
  }
  return rows;
}

TEST_F(TraceTest, IsPrintedSoThatTheStagesMakeUpTheTotal) {
  const std::string sandbox = CreateSandbox();
  const int64_t begin = MonotonicNanoseconds();
  Process corral({"./corral", "exec", "--trace", sandbox, "--", "echo", "out"},
                 {absl::StrCat("CORRAL_SERVER=", server_.address())});
  corral.CloseInput();
  EXPECT_EQ(corral.ReadOutput(), "out\n");
  EXPECT_EQ(corral.Wait(), 0);
  const int64_t measured = MonotonicNanoseconds() - begin;
  const auto rows = Rows(corral.ReadError());
  ASSERT_THAT(rows.size(), Gt(3)) << corral.ReadError();
  EXPECT_EQ(rows.front().first, "client");
  EXPECT_EQ(rows.back().first, "total");
  int64_t sum = 0;
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    EXPECT_GE(rows[i].second, 0) << rows[i].first;
    sum += rows[i].second;
  }
  EXPECT_EQ(sum, rows.back().second);
  EXPECT_LE(1000 * sum, measured);
}

TEST_F(TraceTest, ShowsTheCreationOfTheSandboxOfOneCommand) {
  Process corral(
      {"./corral", "run", "--trace", "-w", server_.workspace(), "--", "true"},
      {absl::StrCat("CORRAL_SERVER=", server_.address())});
  corral.CloseInput();
  EXPECT_EQ(corral.Wait(), 0);
  EXPECT_THAT(corral.ReadError(),
              AllOf(StartsWith("sandbox "), HasSubstr("\nrecord "),
                    HasSubstr("\n  filter "), HasSubstr("\n  workspaces "),
                    HasSubstr("\nstage ")));
}

}  // namespace
}  // namespace tests
