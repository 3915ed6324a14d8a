// The stages of a command that is traced, as its records show them.

#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/instant.h"
#include "sandbox/init/exchange.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/supervisor/command_fixture.h"
#include "sandbox/supervisor/supervised_command.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::WhenSorted;
using ::tests::IsOk;

class SupervisedCommandTraceTest : public CommandFixture {
 protected:
  // The server has just received the request.
  void Trace() {
    start_.set_trace_begin_ns(MonotonicNanoseconds());
    start_.mutable_trace()->set_receive_unix_ns(5);
    start_.mutable_trace()->set_admitted_ns(1);
    start_.mutable_trace()->set_sent_ns(2);
  }
  // The spawner has the request, and reports these stages of it as reached now.
  void BeginTracedStart(bool executes) {
    BeginStart();
    SpawnTimes times = {};
    times.taken_ns = MonotonicNanoseconds();
    times.executing_ns = MonotonicNanoseconds();
    times.executed_ns = executes ? MonotonicNanoseconds() : 0;
    played_.SetTimes(times);
  }
  void StartTraced() {
    BeginTracedStart(/*executes=*/true);
    played_.Succeed();
    RunLoop();
  }
  static std::vector<int64_t> MomentsOf(const wire::ExecutionTrace& trace) {
    return {trace.admitted_ns(), trace.sent_ns(),       trace.accepted_ns(),
            trace.prepared_ns(), trace.spawning_ns(),   trace.executing_ns(),
            trace.executed_ns(), trace.first_byte_ns(), trace.exited_ns(),
            trace.drained_ns(),  trace.recorded_ns()};
  }
  wire::ExecutionRecord StartOnDisk() const {
    wire::ExecutionRecord record;
    EXPECT_THAT(ExecutionRecords::Open(directory_ + "/e1")->ReadStart(&record),
                IsOk());
    return record;
  }
  wire::ExecutionRecord EndOnDisk() const {
    wire::ExecutionRecord record;
    EXPECT_THAT(ExecutionRecords::Open(directory_ + "/e1")->ReadEnd(&record),
                IsOk());
    return record;
  }
};

TEST_F(SupervisedCommandTraceTest, ReachesItsStagesInTheirOrder) {
  Trace();
  StartTraced();
  EXPECT_EQ(played_.request().traced, 1u);
  Print("text");
  RunLoop();
  Exit(0);
  const std::vector<int64_t> moments = MomentsOf(end().trace());
  EXPECT_THAT(moments, Each(Ge(1)));
  EXPECT_THAT(moments, WhenSorted(moments));
  EXPECT_LE(moments.back(), MonotonicNanoseconds() - start_.trace_begin_ns());
  EXPECT_EQ(end().trace().receive_unix_ns(), 5);
}

TEST_F(SupervisedCommandTraceTest, ReportsTheStagesThatItHasReached) {
  Trace();
  StartTraced();
  const wire::ExecutionTrace running = states_[0].trace();
  EXPECT_GT(running.executed_ns(), 0);
  EXPECT_EQ(running.first_byte_ns(), 0);
  EXPECT_EQ(running.exited_ns(), 0);
  Print("text");
  RunLoop();
  const int64_t first_byte = command_->report().trace().first_byte_ns();
  EXPECT_GT(first_byte, running.executed_ns());
  Print("more");
  RunLoop();
  EXPECT_EQ(command_->report().trace().first_byte_ns(), first_byte);
  Exit(0);
}

TEST_F(SupervisedCommandTraceTest, KeepsTheStagesInItsRecords) {
  Trace();
  StartTraced();
  EXPECT_EQ(StartOnDisk().trace().SerializeAsString(), [this] {
    wire::ExecutionTrace early = start_.trace();
    early.set_accepted_ns(states_[0].trace().accepted_ns());
    return early.SerializeAsString();
  }());
  Exit(0);
  wire::ExecutionTrace kept = end().trace();
  kept.clear_recorded_ns();
  EXPECT_EQ(EndOnDisk().trace().SerializeAsString(), kept.SerializeAsString());
}

TEST_F(SupervisedCommandTraceTest, HasNoFirstByteWithoutOutput) {
  Trace();
  StartTraced();
  Exit(0);
  EXPECT_EQ(end().trace().first_byte_ns(), 0);
  EXPECT_GT(end().trace().drained_ns(), 0);
}

TEST_F(SupervisedCommandTraceTest, LacksTheStagesOfAProgramThatIsNotExecuted) {
  Trace();
  BeginTracedStart(/*executes=*/false);
  played_.Fail(SpawnStage::kExec, ENOENT, /*with_process=*/true);
  RunLoop();
  ASSERT_EQ(states_.size(), 1u);
  const wire::ExecutionTrace& trace = states_[0].trace();
  EXPECT_GT(trace.executing_ns(), 0);
  EXPECT_EQ(trace.executed_ns(), 0);
  EXPECT_EQ(trace.exited_ns(), 0);
  EXPECT_EQ(trace.drained_ns(), 0);
  EXPECT_GT(trace.recorded_ns(), trace.executing_ns());
}

TEST_F(SupervisedCommandTraceTest, WaitsForTheDiskAfterItsOutputIsComplete) {
  Trace();
  StartTraced();
  ASSERT_TRUE(
      tests::WithFailingCalls({SYS_pwrite64}, ENOSPC, [this] { Exit(0); }));
  ASSERT_EQ(states_.size(), 1u);
  const int64_t drained = command_->report().trace().drained_ns();
  EXPECT_GT(drained, 0);
  EXPECT_EQ(command_->report().trace().recorded_ns(), 0);
  const int64_t before = MonotonicNanoseconds() - start_.trace_begin_ns();
  command_->Condemn(wire::ExitRecord::SANDBOX_DELETED);
  ASSERT_EQ(states_.size(), 2u);
  EXPECT_EQ(end().trace().drained_ns(), drained);
  EXPECT_GE(end().trace().recorded_ns(), before);
}

TEST_F(SupervisedCommandTraceTest, AsksTheSpawnerForNothingWithoutATrace) {
  Start();
  EXPECT_EQ(played_.request().traced, 0u);
  Print("text");
  Exit(0);
  EXPECT_FALSE(states_[0].has_trace());
  EXPECT_FALSE(end().has_trace());
  EXPECT_FALSE(StartOnDisk().has_trace());
}

}  // namespace
}  // namespace sandbox
