// Retention of a sandbox's ended executions.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/execution.h"
#include "server/core/execution_fixture.h"
#include "server/core/retention.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_fixture.h"
#include "server/runtime/heap_trim.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using corral::v1::Execution;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using SandboxRetentionTest = SandboxFixture;

// Notices nothing; it only keeps an execution.
class Keeper : public ExecutionWatcher {
 public:
  void OnChange() override {}
};

TEST_F(SandboxRetentionTest, ADeletedExecutionCountsNoMoreInTheServer) {
  MakeReady();
  StartOk("job");
  Report("job", wire::ExecutionRecord::EXITED);
  EXPECT_EQ(all_ended_->size(), 1);
  DeleteExecution("job");
  AnswerDeletion(absl::OkStatus());
  EXPECT_EQ(all_ended_->size(), 0);
}

TEST_F(SandboxRetentionTest, ExecutionsOfADeletedSandboxCountNoMore) {
  MakeReady();
  for (const char* id : {"one", "two"}) {
    StartOk(id);
    Report(id, wire::ExecutionRecord::EXITED);
  }
  EXPECT_EQ(all_ended_->size(), 2);
  sandbox_->Delete(wire::ExitRecord::SANDBOX_DELETED,
                   [](const absl::Status&) {});
  AwaitLanes();
  sandbox_->OnGone(Deleted());
  AwaitLanes();
  sandbox_->OnFilesRemoved();
  EXPECT_EQ(all_ended_->size(), 0);
}

TEST_F(SandboxRetentionTest, RemovesTheExecutionThatEndedFirst) {
  wire::SandboxSpec spec;
  spec.set_max_ended_executions(1);
  spec.set_max_ended_age_ns(absl::ToInt64Nanoseconds(absl::Hours(1)));
  MakeReady(spec);
  for (const char* id : {"b", "a"}) {
    StartOk(id);
    Report(id, wire::ExecutionRecord::EXITED);
  }
  ASSERT_THAT(requests_.deletions, SizeIs(1));
  EXPECT_EQ(requests_.deletions[0].first, "b");
  AnswerDeletion(absl::OkStatus());
  EXPECT_EQ(sandbox_->FindExecution("b"), nullptr);
  EXPECT_EQ(Get("a").state(), Execution::EXITED);
  timers_.Advance(absl::Hours(1));
  ASSERT_THAT(requests_.deletions, SizeIs(1));
  EXPECT_EQ(requests_.deletions[0].first, "a");
}

TEST_F(SandboxRetentionTest, RemovesNoCommandThatRuns) {
  wire::SandboxSpec spec;
  spec.set_max_ended_executions(0);
  spec.set_max_ended_age_ns(absl::ToInt64Nanoseconds(absl::Hours(1)));
  MakeReady(spec);
  StartOk("job");
  timers_.Advance(absl::Hours(2));
  EXPECT_THAT(requests_.deletions, IsEmpty());
  Report("job", wire::ExecutionRecord::EXITED);
  EXPECT_THAT(requests_.deletions, SizeIs(1));
}

TEST_F(SandboxRetentionTest, KeepsAnExecutionThatIsStreamedOrAwaited) {
  wire::SandboxSpec spec;
  spec.set_max_ended_age_ns(absl::ToInt64Nanoseconds(absl::Hours(1)));
  MakeReady(spec);
  StartOk("job");
  auto watcher = std::make_shared<Keeper>();
  sandbox_->FindExecution("job")->Watch(watcher);
  Report("job", wire::ExecutionRecord::EXITED);
  timers_.Advance(Retention::kRetry);
  EXPECT_THAT(requests_.deletions, IsEmpty());
  watcher.reset();
  timers_.Advance(Retention::kRetry);
  EXPECT_THAT(requests_.deletions, SizeIs(1));
}

TEST_F(SandboxRetentionTest, AStartNeverFailsForEndedExecutions) {
  MakeReady();
  for (int i = 0; i < 10; ++i) {
    const std::string id = absl::StrCat("job-", i);
    StartOk(id);
    Report(id, wire::ExecutionRecord::EXITED);
  }
  EXPECT_EQ(sandbox_->execution_count(), 10);
  for (const absl::Status& start : starts_) {
    EXPECT_EQ(start, absl::OkStatus());
  }
}

TEST_F(SandboxRetentionTest, ALostExecutionCountsToo) {
  wire::SandboxSpec spec;
  spec.set_max_ended_executions(0);
  spec.set_max_ended_age_ns(absl::ToInt64Nanoseconds(absl::Hours(1)));
  MakeReady(spec);
  StartOk("job");
  WriteStart("job");
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_EQ(sandbox_->execution_count(), 0);
  EXPECT_FALSE(std::filesystem::exists(absl::StrCat(path_, "/executions/job")));
}

TEST_F(SandboxRetentionTest, KeepsAnExecutionWithTheIdOfADeletedOneAsLong) {
  wire::SandboxSpec spec;
  spec.set_max_ended_executions(10);
  spec.set_max_ended_age_ns(absl::ToInt64Nanoseconds(absl::Hours(1)));
  MakeReady(spec);
  StartOk("job");
  Report("job", wire::ExecutionRecord::EXITED);
  DeleteExecution("job");
  AnswerDeletion(absl::OkStatus());
  timers_.Advance(absl::Minutes(30));
  StartOk("job");
  Report("job", wire::ExecutionRecord::EXITED);
  timers_.Advance(absl::Minutes(59));
  EXPECT_THAT(requests_.deletions, IsEmpty());
  timers_.Advance(absl::Minutes(1));
  EXPECT_THAT(requests_.deletions, SizeIs(1));
}

class SandboxRetentionOrderTest : public SandboxFixture {
 protected:
  // Starts "job" in a sandbox that keeps no ended execution. The caller of the
  // start watches it as soon as it is answered.
  void StartWatched() {
    wire::SandboxSpec spec;
    spec.set_max_ended_executions(0);
    spec.set_max_ended_age_ns(absl::ToInt64Nanoseconds(absl::Hours(1)));
    MakeReady(spec);
    sandbox_->Start({"job", corral::v1::Command(), {}},
                    [this](const absl::StatusOr<Sandbox::ExecutionPtr>& job) {
                      (*job)->Watch(keeper_);
                    });
  }

  const std::shared_ptr<Keeper> keeper_ = std::make_shared<Keeper>();
};

TEST_F(SandboxRetentionOrderTest, TheCallerOfAStartGetsAnExecutionThatEnded) {
  StartWatched();
  Report("job", wire::ExecutionRecord::EXITED);
  EXPECT_THAT(requests_.deletions, IsEmpty());
  EXPECT_EQ(Get("job").state(), Execution::EXITED);
}

TEST_F(SandboxRetentionOrderTest, TheCallerOfAStartGetsAnExecutionThatIsLost) {
  StartWatched();
  WriteStart("job");
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), Execution::LOST);
}

// Each ends as the last of the executions after which the heap is trimmed.
class SandboxHeapTest : public SandboxFixture {
 protected:
  SandboxHeapTest() {
    for (int i = 1; i < HeapTrim::kRecords; ++i) {
      heap_.OnFreed();
    }
    MakeReady();
    StartOk("job");
  }
};

TEST_F(SandboxHeapTest, ADeletedExecutionCounts) {
  DeleteExecution("job");
  EXPECT_EQ(timers_.size(), 0);
  AnswerDeletion(absl::OkStatus());
  EXPECT_EQ(timers_.size(), 1);
}

TEST_F(SandboxHeapTest, AnExecutionOfADeletedSandboxCounts) {
  sandbox_->Delete(wire::ExitRecord::SANDBOX_DELETED,
                   [](const absl::Status&) {});
  AwaitLanes();
  sandbox_->OnGone(Deleted());
  AwaitLanes();
  EXPECT_EQ(timers_.size(), 0);
  sandbox_->OnFilesRemoved();
  EXPECT_EQ(timers_.size(), 1);
}

class ServerRetentionTest : public SandboxFixture {
 protected:
  // The server keeps one ended execution.
  ServerRetentionTest() {
    all_ended_ = Retention::Create(
        {1, absl::InfiniteDuration()}, &timers_,
        {[](const std::string&) { return false; },
         [this](const std::string& name, Retention::Done done) {
           removed_.push_back(name);
           done(absl::OkStatus());
         }});
  }

  // Reports two ends in other sandboxes.
  void EndTwoElsewhere() {
    for (const int minutes : {2, 1}) {
      const auto ended = MakeEnded(absl::StrCat("elsewhere-", minutes),
                                   absl::Now() - absl::Minutes(minutes));
      all_ended_->Ended(ended);
    }
    all_ended_->Enforce();
  }

  std::vector<std::string> removed_;
};

TEST_F(ServerRetentionTest, BoundsTheEndedExecutionsOfAllSandboxes) {
  MakeReady();
  for (const char* id : {"a", "b"}) {
    StartOk(id);
    Report(id, wire::ExecutionRecord::EXITED);
  }
  EXPECT_THAT(removed_, ElementsAre(sandbox_->FindExecution("a")->name()));
}

TEST_F(ServerRetentionTest, RemovesNothingBeforeASandboxIsRecovered) {
  for (const char* id : {"a", "b"}) {
    WriteStart(id);
    WriteEnd(Record(id, wire::ExecutionRecord::EXITED));
  }
  Recover();
  AwaitLanes();
  all_ended_->Enforce();
  EXPECT_THAT(removed_, IsEmpty());
  Attach();
  wire::Snapshot snapshot;
  snapshot.set_ready(true);
  sandbox_->OnSnapshot(snapshot);
  AwaitLanes();
  EXPECT_THAT(removed_, SizeIs(1));
}

TEST_F(ServerRetentionTest, DoesNotWaitForTheFilesOfASandboxThatWasNeverRead) {
  Make(Sandbox::Origin::kEarlierServer);
  sandbox_->Delete(wire::ExitRecord::SANDBOX_DELETED,
                   [](const absl::Status&) {});
  Attach();
  AwaitLanes();
  EndTwoElsewhere();
  EXPECT_THAT(removed_, IsEmpty());
  sandbox_->OnGone(Deleted());
  AwaitLanes();
  EXPECT_THAT(emptied_, ElementsAre(sandbox_));
  EXPECT_THAT(removed_, ElementsAre(EndsWith("elsewhere-2")));
}

TEST_F(ServerRetentionTest, GoesOnThoughAnExecutionIsDeletedDuringTheReading) {
  WriteStart("job");
  const std::string unreadable = absl::StrCat(path_, "/executions/x/start.pb");
  std::filesystem::create_directories(unreadable);
  Recover();
  sandbox_->Attach(nullptr);
  sandbox_->OnGone(Killed());
  AwaitLanes();
  ASSERT_FALSE(sandbox_->knows_executions());
  DeleteExecution("job");
  AwaitLanes();
  EXPECT_THAT(deletions_, IsEmpty());
  std::filesystem::remove(unreadable);
  AwaitNextRead();
  EXPECT_THAT(deletions_, ElementsAre(absl::OkStatus()));
  EndTwoElsewhere();
  EXPECT_THAT(removed_, ElementsAre(EndsWith("elsewhere-2")));
}

}  // namespace
}  // namespace server
