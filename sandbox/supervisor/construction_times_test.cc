#include "sandbox/supervisor/construction_times.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "gtest/gtest.h"
#include "sandbox/base/instant.h"

namespace sandbox {
namespace {

using Step = ConstructionTimes::Step;

// The time of the test, which each step of it changes.
int64_t now_ns = 0;
int64_t Now() { return now_ns; }

class ConstructionTimesTest : public ::testing::Test {
 protected:
  ConstructionTimesTest() { times_.SetBegin({7, 1000}); }
  // Ends a step at this time.
  void End(Step step, int64_t at_ns) {
    now_ns = at_ns;
    times_.Note(step);
  }

  ConstructionTimes times_ = ConstructionTimes::Start(Now);
};

TEST_F(ConstructionTimesTest, CountEachStepFromTheEndOfTheOneBefore) {
  End(Step::kGroups, 1001);
  End(Step::kNamespaces, 1003);
  End(Step::kJoin, 1006);
  End(Step::kMounts, 1010);
  End(Step::kInit, 1015);
  End(Step::kSpawner, 1021);
  End(Step::kFilter, 1028);
  End(Step::kReady, 1036);
  End(Step::kClaim, 5000);
  End(Step::kLimits, 5009);
  End(Step::kWorkspaces, 5019);
  End(Step::kProtection, 5030);
  End(Step::kWayOut, 5042);
  const wire::SandboxTrace trace = times_.ToWire();
  EXPECT_EQ(trace.prepare_unix_ns(), 7);
  EXPECT_EQ(trace.groups_ns(), 1);
  EXPECT_EQ(trace.namespaces_ns(), 2);
  EXPECT_EQ(trace.join_ns(), 3);
  EXPECT_EQ(trace.mounts_ns(), 4);
  EXPECT_EQ(trace.init_ns(), 5);
  EXPECT_EQ(trace.spawner_ns(), 6);
  EXPECT_EQ(trace.filter_ns(), 7);
  EXPECT_EQ(trace.ready_ns(), 8);
  EXPECT_EQ(trace.limits_ns(), 9);
  EXPECT_EQ(trace.workspaces_ns(), 10);
  EXPECT_EQ(trace.protection_ns(), 11);
  EXPECT_EQ(trace.way_out_ns(), 12);
  EXPECT_FALSE(trace.completed_ahead());
}

TEST_F(ConstructionTimesTest, SayWhatWasCompletedBeforeTheRequestCame) {
  End(Step::kReady, 1036);
  End(Step::kLimits, 1040);
  End(Step::kWorkspaces, 1050);
  End(Step::kClaim, 5000);
  const wire::SandboxTrace trace = times_.ToWire();
  EXPECT_EQ(trace.limits_ns(), 4);
  EXPECT_EQ(trace.workspaces_ns(), 10);
  EXPECT_TRUE(trace.completed_ahead());
}

TEST_F(ConstructionTimesTest, LeaveOutStepsThatWereNotTaken) {
  End(Step::kReady, 1036);
  End(Step::kClaim, 5000);
  End(Step::kWorkspaces, 5019);
  const wire::SandboxTrace trace = times_.ToWire();
  EXPECT_EQ(trace.ready_ns(), 36);
  EXPECT_EQ(trace.limits_ns(), 0);
  EXPECT_EQ(trace.workspaces_ns(), 19);
  EXPECT_EQ(trace.way_out_ns(), 0);
}

TEST_F(ConstructionTimesTest, CountAStepThatIsTakenAgainWhereItIsTaken) {
  End(Step::kInit, 1015);
  End(Step::kSpawner, 1021);
  End(Step::kReady, 1036);
  End(Step::kClaim, 5000);
  End(Step::kLimits, 5009);
  End(Step::kSpawner, 5020);
  End(Step::kReady, 5050);
  End(Step::kWayOut, 5051);
  const wire::SandboxTrace trace = times_.ToWire();
  EXPECT_EQ(trace.init_ns(), 15);
  EXPECT_EQ(trace.limits_ns(), 9);
  EXPECT_EQ(trace.spawner_ns(), 11);
  EXPECT_EQ(trace.ready_ns(), 30);
  EXPECT_EQ(trace.way_out_ns(), 1);
}

TEST_F(ConstructionTimesTest, ShowAStepThatTookNoTime) {
  End(Step::kGroups, 1001);
  End(Step::kNamespaces, 1001);
  EXPECT_EQ(times_.ToWire().namespaces_ns(), 1);
}

TEST_F(ConstructionTimesTest, AreNotedByChildrenToo) {
  now_ns = 1010;
  const pid_t child = ::fork();
  if (child == 0) {
    times_.Note(Step::kMounts);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  End(Step::kInit, 1015);
  EXPECT_EQ(times_.ToWire().mounts_ns(), 10);
  EXPECT_EQ(times_.ToWire().init_ns(), 5);
}

TEST_F(ConstructionTimesTest, AreMovedWithWhatWasNoted) {
  End(Step::kGroups, 1001);
  const ConstructionTimes moved = std::move(times_);
  EXPECT_EQ(moved.ToWire().groups_ns(), 1);
  EXPECT_EQ(moved.ToWire().prepare_unix_ns(), 7);
}

TEST_F(ConstructionTimesTest, NoteNothingWithoutMemory) {
  times_ = ConstructionTimes();
  times_.SetBegin({7, 1000});
  End(Step::kGroups, 1001);
  EXPECT_EQ(times_.ToWire().ByteSizeLong(), 0u);
}

TEST_F(ConstructionTimesTest, AreReadFromTheClockOfTheHost) {
  times_ = ConstructionTimes::Start();
  const Instant begin = Instant::Now();
  times_.SetBegin(begin);
  times_.Note(Step::kGroups);
  const int64_t whole = MonotonicNanoseconds() - begin.monotonic_ns;
  EXPECT_GE(times_.ToWire().groups_ns(), 1);
  EXPECT_LE(times_.ToWire().groups_ns(), whole + 1);
}

}  // namespace
}  // namespace sandbox
