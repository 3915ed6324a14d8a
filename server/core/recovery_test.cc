#include "server/core/recovery.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"

namespace server {
namespace {

namespace wire = ::corral::supervisor::v1;
using Phase = Recovery::Phase;

wire::ExecutionRecord Record(const std::string& id,
                             wire::ExecutionRecord::State state) {
  wire::ExecutionRecord record;
  record.set_id(id);
  record.set_state(state);
  return record;
}

wire::Snapshot SnapshotOf(const std::vector<std::string>& ids) {
  wire::Snapshot snapshot;
  for (const std::string& id : ids) {
    *snapshot.add_executions() = Record(id, wire::ExecutionRecord::RUNNING);
  }
  return snapshot;
}

TEST(Recovery, LetsOneReaderBegin) {
  Recovery recovery(Phase::kUnread);
  EXPECT_TRUE(recovery.BeginReading());
  EXPECT_FALSE(recovery.BeginReading());
  recovery.FinishReading(/*complete=*/true);
  EXPECT_FALSE(recovery.BeginReading());
}

TEST(Recovery, HasRecordsFromTheEndOfReadingOn) {
  Recovery recovery(Phase::kUnread);
  EXPECT_FALSE(recovery.has_records());
  recovery.BeginReading();
  EXPECT_FALSE(recovery.has_records());
  recovery.FinishReading(/*complete=*/true);
  EXPECT_TRUE(recovery.has_records());
}

TEST(Recovery, LacksRecordsThatWereGivenUpUntilTheSnapshotIsMerged) {
  Recovery recovery(Phase::kUnread);
  recovery.BeginReading();
  recovery.FinishReading(/*complete=*/false);
  EXPECT_FALSE(recovery.has_records());
  recovery.KeepSnapshot(SnapshotOf({"a"}));
  recovery.TakeReports();
  EXPECT_FALSE(recovery.has_records());
  recovery.TakeReports();
  EXPECT_TRUE(recovery.has_records());
}

TEST(Recovery, HasNoMoreRecordsToComeWithoutASupervisor) {
  Recovery recovery(Phase::kUnread);
  recovery.BeginReading();
  recovery.FinishReading(/*complete=*/false);
  recovery.Abandon();
  EXPECT_TRUE(recovery.has_records());
}

TEST(Recovery, IsDoneForANewSandbox) {
  Recovery recovery(Phase::kDone);
  EXPECT_TRUE(recovery.has_records());
  EXPECT_FALSE(recovery.BeginReading());
  EXPECT_FALSE(recovery.FinishReading(/*complete=*/true));
  EXPECT_FALSE(recovery.KeepSnapshot(SnapshotOf({"a"})));
  EXPECT_FALSE(
      recovery.KeepReport(Record("a", wire::ExecutionRecord::RUNNING)));
  EXPECT_TRUE(recovery.TakeReports().empty());
}

TEST(Recovery, HasTheReaderMergeASnapshotThatCameFirst) {
  Recovery recovery(Phase::kUnread);
  recovery.BeginReading();
  EXPECT_FALSE(recovery.KeepSnapshot(SnapshotOf({"a"})));
  EXPECT_TRUE(recovery.FinishReading(/*complete=*/true));
  EXPECT_EQ(recovery.TakeReports().size(), 1);
}

TEST(Recovery, HasASnapshotMergedThatCameLast) {
  Recovery recovery(Phase::kUnread);
  recovery.BeginReading();
  EXPECT_FALSE(recovery.FinishReading(/*complete=*/true));
  EXPECT_TRUE(recovery.KeepSnapshot(SnapshotOf({"a"})));
  EXPECT_EQ(recovery.TakeReports().size(), 1);
}

TEST(Recovery, BeginsOneMergeThoughASecondSnapshotComes) {
  Recovery recovery(Phase::kUnread);
  recovery.BeginReading();
  recovery.FinishReading(/*complete=*/true);
  EXPECT_TRUE(recovery.KeepSnapshot(SnapshotOf({"a"})));
  EXPECT_FALSE(recovery.KeepSnapshot(SnapshotOf({"a", "b"})));
  EXPECT_EQ(recovery.TakeReports().size(), 2);
}

TEST(Recovery, KeepsASnapshotOfASandboxThatNobodyReadsYet) {
  Recovery recovery(Phase::kUnread);
  EXPECT_FALSE(recovery.KeepSnapshot(SnapshotOf({"a"})));
  EXPECT_TRUE(recovery.BeginReading());
  EXPECT_TRUE(recovery.FinishReading(/*complete=*/true));
  EXPECT_EQ(recovery.TakeReports().count("a"), 1);
}

TEST(Recovery, HandsOutTheLastReportOfEachExecution) {
  Recovery recovery(Phase::kUnread);
  recovery.KeepSnapshot(SnapshotOf({"a", "b"}));
  EXPECT_TRUE(recovery.KeepReport(Record("a", wire::ExecutionRecord::EXITED)));
  recovery.BeginReading();
  recovery.FinishReading(/*complete=*/true);
  const Recovery::Reports reports = recovery.TakeReports();
  ASSERT_EQ(reports.size(), 2);
  EXPECT_EQ(reports.at("a").state(), wire::ExecutionRecord::EXITED);
  EXPECT_EQ(reports.at("b").state(), wire::ExecutionRecord::RUNNING);
}

TEST(Recovery, KeepsReportsUntilTheMergeHasTakenAll) {
  Recovery recovery(Phase::kUnread);
  recovery.BeginReading();
  recovery.KeepSnapshot(SnapshotOf({"a"}));
  recovery.FinishReading(/*complete=*/true);
  EXPECT_EQ(recovery.TakeReports().size(), 1);
  // Reported while the snapshot is merged.
  EXPECT_TRUE(recovery.KeepReport(Record("a", wire::ExecutionRecord::EXITED)));
  EXPECT_EQ(recovery.TakeReports().size(), 1);
  EXPECT_TRUE(recovery.TakeReports().empty());
  EXPECT_FALSE(recovery.KeepReport(Record("a", wire::ExecutionRecord::EXITED)));
}

TEST(Recovery, GoesOnWhenTheRecordsAreRead) {
  Recovery recovery(Phase::kUnread);
  int calls = 0;
  recovery.AfterReading([&] { ++calls; });
  recovery.BeginReading();
  recovery.AfterReading([&] { ++calls; });
  EXPECT_EQ(calls, 0);
  recovery.FinishReading(/*complete=*/true);
  EXPECT_EQ(calls, 2);
  recovery.AfterReading([&] { ++calls; });
  EXPECT_EQ(calls, 3);
}

TEST(Recovery, MergesNothingOnceAbandoned) {
  Recovery recovery(Phase::kUnread);
  recovery.BeginReading();
  recovery.KeepSnapshot(SnapshotOf({"a"}));
  recovery.Abandon();
  EXPECT_TRUE(recovery.has_records());
  EXPECT_FALSE(recovery.FinishReading(/*complete=*/true));
  EXPECT_TRUE(recovery.TakeReports().empty());
}

TEST(Recovery, GivesUpARecordOnlyAfterAllAttempts) {
  Recovery recovery(Phase::kUnread);
  for (int attempt = 1; attempt < Recovery::kReadAttempts; ++attempt) {
    EXPECT_FALSE(recovery.MayGiveUp(absl::InternalError("I/O error")));
  }
  EXPECT_TRUE(recovery.MayGiveUp(absl::InternalError("I/O error")));
}

TEST(Recovery, NeverGivesUpForWantOfDescriptors) {
  Recovery recovery(Phase::kUnread);
  for (int attempt = 0; attempt < 2 * Recovery::kReadAttempts; ++attempt) {
    EXPECT_FALSE(
        recovery.MayGiveUp(absl::ResourceExhaustedError("open files")));
  }
  EXPECT_FALSE(recovery.MayGiveUp(absl::InternalError("I/O error")));
}

TEST(Recovery, DropsWhatWaitsForTheRecordsWhenItIsAbandoned) {
  Recovery recovery(Phase::kUnread);
  const auto owned = std::make_shared<int>(0);
  recovery.AfterReading([owned] {});
  EXPECT_EQ(owned.use_count(), 2);
  recovery.Abandon();
  EXPECT_EQ(owned.use_count(), 1);
}

}  // namespace
}  // namespace server
