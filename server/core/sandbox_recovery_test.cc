// Recovery of a sandbox from an earlier server's records and a snapshot.

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "server/core/execution.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_fixture.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using corral::v1::Execution;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using SandboxRecoveryTest = SandboxFixture;

TEST_F(SandboxRecoveryTest, IsReadyWhenRecordsAndSnapshotAreMerged) {
  WriteStart("job");
  WriteEnded("ended", absl::Minutes(1));
  Recover();
  AwaitLanes();
  EXPECT_EQ(State(), corral::v1::Sandbox::CREATING);
  EXPECT_TRUE(sandbox_->knows_executions());
  Attach();
  sandbox_->OnSnapshot(SnapshotOf(
      {Running("job"), Record("ended", wire::ExecutionRecord::EXITED)}));
  AwaitLanes();
  EXPECT_EQ(State(), corral::v1::Sandbox::READY);
  EXPECT_EQ(Get("job").state(), Execution::RUNNING);
  EXPECT_EQ(Get("ended").state(), Execution::EXITED);
}

TEST_F(SandboxRecoveryTest, ASnapshotMayComeBeforeTheRecordsAreRead) {
  WriteStart("job");
  Make(Sandbox::Origin::kEarlierServer);
  Attach();
  sandbox_->OnSnapshot(SnapshotOf({Running("job")}));
  AwaitLanes();
  EXPECT_FALSE(sandbox_->knows_executions());
  sandbox_->BeginRecovery();
  AwaitLanes();
  EXPECT_TRUE(sandbox_->knows_executions());
  EXPECT_EQ(Get("job").state(), Execution::RUNNING);
}

TEST_F(SandboxRecoveryTest, AReportThatComesBeforeTheMergeIsNotForgotten) {
  WriteStart("job");
  Make(Sandbox::Origin::kEarlierServer);
  Attach();
  sandbox_->OnSnapshot(SnapshotOf({Running("job")}));
  Report("job", wire::ExecutionRecord::EXITED);
  sandbox_->BeginRecovery();
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), Execution::EXITED);
}

TEST_F(SandboxRecoveryTest, ACallHurriesTheRecords) {
  Make(Sandbox::Origin::kEarlierServer);
  EXPECT_FALSE(sandbox_->knows_executions());
  sandbox_->HurryRecords();
  AwaitLanes();
  EXPECT_TRUE(sandbox_->knows_executions());
}

TEST_F(SandboxRecoveryTest, ACallWaitsForTheSupervisorUpToItsPatience) {
  Recover();
  AwaitLanes();
  Answers known;
  sandbox_->AwaitKnown(Into(&known));
  timers_.Advance(Sandbox::kKnownPatience - absl::Milliseconds(1));
  EXPECT_THAT(known, IsEmpty());
  timers_.Advance(absl::Milliseconds(1));
  ASSERT_THAT(known, SizeIs(1));
  ExpectUnavailable(known[0], "its records or its supervisor are not known yet",
                    absl::Milliseconds(500));
  sandbox_->AwaitKnown(Into(&known));
  Attach();
  sandbox_->OnSnapshot(SnapshotOf({}));
  AwaitLanes();
  EXPECT_THAT(known, SizeIs(2));
  EXPECT_EQ(known.back(), absl::OkStatus());
  timers_.Advance(Sandbox::kKnownPatience);
  EXPECT_THAT(known, SizeIs(2));
}

TEST_F(SandboxRecoveryTest, ACommandThatBeganAfterTheReadingIsReadAgain) {
  Recover();
  AwaitLanes();
  WriteStart("late");
  Attach();
  sandbox_->OnSnapshot(SnapshotOf({Running("late")}));
  AwaitLanes();
  EXPECT_EQ(Get("late").state(), Execution::RUNNING);
}

TEST_F(SandboxRecoveryTest, AnIdThatWasUsedAgainAfterTheReadingIsReadAgain) {
  wire::ExecutionRecord first = Record("job", wire::ExecutionRecord::STARTING);
  first.set_create_time_ns(1);
  first.mutable_request()->set_request_id("first");
  WriteStart(first);
  wire::ExecutionRecord end = Record("job", wire::ExecutionRecord::EXITED);
  end.set_create_time_ns(1);
  WriteEnd(end);
  Recover();
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), Execution::EXITED);
  // The server before had it deleted, and started another one.
  std::filesystem::remove(absl::StrCat(path_, "/executions/job"));
  files_.clear();
  wire::ExecutionRecord second = Record("job", wire::ExecutionRecord::STARTING);
  second.set_create_time_ns(2);
  second.mutable_request()->set_request_id("second");
  WriteStart(second);
  Attach();
  second.set_state(wire::ExecutionRecord::RUNNING);
  sandbox_->OnSnapshot(SnapshotOf({second}));
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), Execution::RUNNING);
  EXPECT_EQ(sandbox_->FindExecution("job")->request().request_id(), "second");
}

TEST_F(SandboxRecoveryTest, LosesAnExecutionThatTheSupervisorDoesNotKnow) {
  WriteStart("job");
  Recover();
  Attach();
  sandbox_->OnSnapshot(SnapshotOf({}));
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), Execution::LOST);
}

TEST_F(SandboxRecoveryTest, ADeletionDuringTheRestartEndsTheHold) {
  wire::SandboxSpec spec;
  spec.set_idle_timeout_ns(absl::ToInt64Nanoseconds(absl::Minutes(1)));
  WriteStart("job");
  Recover(spec);
  sandbox_->BeginLifetime();
  AwaitLanes();
  // The server before had it deleted, just now.
  std::filesystem::remove_all(absl::StrCat(path_, "/executions/job"));
  Attach();
  sandbox_->OnSnapshot(SnapshotOf({}));
  AwaitLanes();
  EXPECT_EQ(sandbox_->FindExecution("job"), nullptr);
  timers_.Advance(absl::Minutes(1));
  AwaitLanes();
  EXPECT_THAT(requests_.kills, ElementsAre(wire::ExitRecord::SANDBOX_EXPIRED));
}

TEST_F(SandboxRecoveryTest, ASandboxThatWasNeverReadyIsDeleted) {
  Recover();
  Attach();
  sandbox_->OnSnapshot(SnapshotOf({}, /*ready=*/false));
  AwaitLanes();
  EXPECT_EQ(State(), corral::v1::Sandbox::DELETING);
  EXPECT_THAT(requests_.kills, ElementsAre(wire::ExitRecord::SANDBOX_DELETED));
}

TEST_F(SandboxRecoveryTest, ADeletionDoesNotWaitForTheRecords) {
  Make(Sandbox::Origin::kEarlierServer);
  sandbox_->Delete(wire::ExitRecord::SANDBOX_DELETED,
                   [](const absl::Status&) {});
  Attach();
  AwaitLanes();
  EXPECT_FALSE(sandbox_->knows_executions());
  EXPECT_THAT(requests_.kills, SizeIs(1));
}

TEST_F(SandboxRecoveryTest, RetentionGoesOnAfterARestart) {
  wire::SandboxSpec spec;
  spec.set_max_ended_executions(1);
  spec.set_max_ended_age_ns(absl::ToInt64Nanoseconds(absl::Hours(24)));
  WriteEnded("a", absl::Minutes(1));
  WriteEnded("b", absl::Minutes(2));
  Recover(spec);
  AwaitLanes();
  Attach();
  EXPECT_THAT(requests_.deletions, IsEmpty());
  sandbox_->OnSnapshot(
      SnapshotOf({Record("a", wire::ExecutionRecord::EXITED),
                  Record("b", wire::ExecutionRecord::EXITED)}));
  AwaitLanes();
  ASSERT_THAT(requests_.deletions, SizeIs(1));
  EXPECT_EQ(requests_.deletions[0].first, "b");
}

TEST_F(SandboxRecoveryTest, RetentionRemovesFilesWithoutASupervisor) {
  wire::SandboxSpec spec;
  spec.set_max_ended_executions(1);
  spec.set_max_ended_age_ns(absl::ToInt64Nanoseconds(absl::Hours(24)));
  WriteEnded("a", absl::Minutes(1));
  WriteEnded("b", absl::Minutes(2));
  Recover(spec);
  sandbox_->Attach(nullptr);
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_FALSE(std::filesystem::exists(absl::StrCat(path_, "/executions/b")));
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(path_, "/executions/a")));
  EXPECT_EQ(sandbox_->execution_count(), 1);
}

TEST_F(SandboxRecoveryTest, ACallThatWaitsHurriesTheRecords) {
  Make(Sandbox::Origin::kEarlierServer);
  Answers known;
  sandbox_->AwaitKnown(Into(&known));
  AwaitLanes();
  EXPECT_TRUE(sandbox_->knows_executions());
  EXPECT_THAT(known, IsEmpty());
}

TEST_F(SandboxRecoveryTest, ACallThatWaitsIsAnsweredIfTheSupervisorIsDead) {
  Recover();
  Answers known;
  sandbox_->AwaitKnown(Into(&known));
  sandbox_->Attach(nullptr);
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_THAT(known, ElementsAre(absl::OkStatus()));
}

TEST_F(SandboxRecoveryTest, ADeletionWaitsForTheSupervisorUpToItsPatience) {
  WriteStart("job");
  Recover();
  AwaitLanes();
  DeleteExecution("job");
  timers_.Advance(Sandbox::kKnownPatience);
  ASSERT_THAT(deletions_, SizeIs(1));
  EXPECT_EQ(ReasonOf(deletions_[0]), corral::v1::SANDBOX_NOT_READY);
  // It may be repeated.
  DeleteExecution("job");
  sandbox_->Attach(nullptr);
  sandbox_->OnGone(Killed());
  AwaitLanes();
  ASSERT_THAT(deletions_, SizeIs(2));
  EXPECT_EQ(deletions_[1], absl::OkStatus());
}

TEST_F(SandboxRecoveryTest, ASnapshotReportsWhetherTheSupervisorCanWrite) {
  Recover();
  Attach();
  wire::Snapshot snapshot = SnapshotOf({});
  snapshot.mutable_storage()->set_failure("no space");
  sandbox_->OnSnapshot(snapshot);
  EXPECT_THAT(storage_.failure(), HasSubstr("no space"));
  AwaitLanes();
}

TEST_F(SandboxRecoveryTest, OnlyEndedExecutionsCountForTheRetention) {
  WriteStart("job");
  WriteEnded("ended", absl::Minutes(1));
  Recover();
  AwaitLanes();
  EXPECT_EQ(all_ended_->size(), 1);
}

TEST_F(SandboxRecoveryTest, ASnapshotDoesNotBringBackADeletedExecution) {
  WriteStart("kept");
  Recover();
  AwaitLanes();
  Attach();
  // The supervisor has removed the record of "deleted", and reports it still.
  sandbox_->OnSnapshot(SnapshotOf({Running("deleted"), Running("kept")}));
  AwaitLanes();
  EXPECT_EQ(sandbox_->FindExecution("deleted"), nullptr);
  EXPECT_EQ(Get("kept").state(), Execution::RUNNING);
}

TEST_F(SandboxRecoveryTest, ReadsNoRecordsOnceItsProcessesAreGone) {
  WriteStart("job");
  Make(Sandbox::Origin::kEarlierServer);
  sandbox_->Delete(wire::ExitRecord::SANDBOX_DELETED,
                   [](const absl::Status&) {});
  Attach();
  AwaitLanes();
  sandbox_->OnGone(Deleted());
  AwaitLanes();
  EXPECT_THAT(emptied_, ElementsAre(sandbox_));
  sandbox_->BeginRecovery();
  AwaitLanes();
  EXPECT_EQ(sandbox_->execution_count(), 0);
}

}  // namespace
}  // namespace server
