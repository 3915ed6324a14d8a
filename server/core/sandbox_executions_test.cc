// The executions of a sandbox: end and deletion.

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
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
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"
#include "server/api/errors.h"
#include "server/core/execution.h"
#include "server/core/recovery.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_fixture.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using corral::v1::Execution;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Notices the end of an execution, and what is known of its output by then.
class Watcher : public ExecutionWatcher {
 public:
  explicit Watcher(const server::Execution& execution)
      : execution_(execution) {}
  void OnChange() override {
    if (execution_.ended() && !saw_end_) {
      saw_end_ = true;
      output_at_end_ = execution_.output(corral::v1::STDOUT);
    }
  }
  bool saw_end() const { return saw_end_; }
  const std::optional<sandbox::OutputLogState>& output_at_end() const {
    return output_at_end_;
  }

 private:
  const server::Execution& execution_;
  bool saw_end_ = false;
  std::optional<sandbox::OutputLogState> output_at_end_;
};

using SandboxExecutionsTest = SandboxFixture;

TEST_F(SandboxExecutionsTest, AnEndThatOnlyTheDiskKnowsIsReported) {
  MakeReady();
  StartOk("job");
  WriteStart("job");
  wire::ExecutionRecord end = Record("job", wire::ExecutionRecord::EXITED);
  end.mutable_exit()->set_wait_status(7 << 8);
  WriteEnd(end);
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), Execution::EXITED);
  EXPECT_EQ(Get("job").exit().code(), 7);
}

TEST_F(SandboxExecutionsTest, OutputThatWasNotReportedIsKnownBeforeTheLoss) {
  MakeReady();
  StartOk("job");
  WriteStart("job");
  WriteOutput("job", "late");
  const auto watcher =
      std::make_shared<Watcher>(*sandbox_->FindExecution("job"));
  sandbox_->FindExecution("job")->Watch(watcher);
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), corral::v1::Execution::LOST);
  ASSERT_TRUE(watcher->output_at_end().has_value());
  EXPECT_EQ(watcher->output_at_end()->end, 4);
}

TEST_F(SandboxExecutionsTest, TwoDeletionsAskTheSupervisorOnce) {
  MakeReady();
  StartOk("job");
  DeleteExecution("job");
  DeleteExecution("job");
  EXPECT_THAT(requests_.deletions, SizeIs(1));
  EXPECT_EQ(timers_.size(), 0) << "nothing is waited for but the supervisor";
  EXPECT_THAT(deletions_, IsEmpty());
  AnswerDeletion(absl::OkStatus());
  EXPECT_THAT(deletions_, ElementsAre(absl::OkStatus(), absl::OkStatus()));
  EXPECT_EQ(sandbox_->FindExecution("job"), nullptr);
}

TEST_F(SandboxExecutionsTest, AnExecutionThatDoesNotExistCannotBeDeleted) {
  MakeReady();
  DeleteExecution("job");
  ASSERT_THAT(deletions_, SizeIs(1));
  EXPECT_EQ(ReasonOf(deletions_[0]), corral::v1::EXECUTION_NOT_FOUND);
  EXPECT_THAT(requests_.deletions, IsEmpty());
}

TEST_F(SandboxExecutionsTest, ADeletionThatFailsKeepsTheExecution) {
  MakeReady();
  StartOk("job");
  DeleteExecution("job");
  AnswerDeletion(absl::InternalError("no"));
  ASSERT_THAT(deletions_, SizeIs(1));
  EXPECT_EQ(ReasonOf(deletions_[0]), corral::v1::SERVER_FAULT);
  EXPECT_EQ(Get("job").state(), Execution::RUNNING);
  DeleteExecution("job");
  AnswerDeletion(absl::OkStatus());
  EXPECT_THAT(deletions_, SizeIs(2));
}

TEST_F(SandboxExecutionsTest, ADeletionThatLosesItsSupervisorRemovesTheFiles) {
  MakeReady();
  StartOk("job");
  WriteStart("job");
  DeleteExecution("job");
  AnswerDeletion(Failure(wire::Reply::SUPERVISOR_GONE));
  AwaitLanes();
  EXPECT_THAT(deletions_, IsEmpty());
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_THAT(deletions_, ElementsAre(absl::OkStatus()));
  EXPECT_FALSE(std::filesystem::exists(absl::StrCat(path_, "/executions/job")));
  EXPECT_EQ(sandbox_->FindExecution("job"), nullptr);
}

TEST_F(SandboxExecutionsTest, ADeletionWhoseRemovalFailedCanBeRepeated) {
  MakeReady();
  StartOk("job");
  // In the directory of an earlier supervisor.
  const std::string directory = absl::StrCat(path_, "/executions/job");
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/start.pb", std::ios::binary)
      << sandbox::SealRecord(Record("job", wire::ExecutionRecord::STARTING));
  sandbox_->OnGone(Killed());
  AwaitLanes();
  // A directory cannot be renamed to the name of a file.
  const std::string obstacle = absl::StrCat(path_, "/executions/.removed-job");
  std::ofstream(obstacle) << "x";
  DeleteExecution("job");
  AwaitLanes();
  ASSERT_THAT(deletions_, SizeIs(1));
  EXPECT_EQ(ReasonOf(deletions_[0]), corral::v1::SERVER_FAULT);
  std::filesystem::remove(obstacle);
  DeleteExecution("job");
  AwaitLanes();
  ASSERT_THAT(deletions_, SizeIs(2));
  EXPECT_EQ(deletions_[1], absl::OkStatus());
  EXPECT_EQ(sandbox_->FindExecution("job"), nullptr);
}

TEST_F(SandboxExecutionsTest, TwoReasonsToRemoveFilesRemoveThemOnce) {
  MakeReady();
  StartOk("job");
  WriteStart("job");
  DeleteExecution("job");
  // From now on, jobs of the lane run one after another, and the first ones
  // wait until the test opens the gate.
  std::promise<void> end;
  std::promise<void> gate;
  lanes_.removals.Run([&end] { end.get_future().wait(); });
  lanes_.removals.Run([&gate] { gate.get_future().wait(); });
  sandbox_->OnGone(Killed());
  lanes_.records.AwaitIdle();
  // The loss of the supervisor has queued a removal. After that, files appear
  // that a second removal would take.
  const std::string file = absl::StrCat(path_, "/executions/job/new");
  lanes_.removals.Run([&file] { std::filesystem::create_directories(file); });
  AnswerDeletion(Failure(wire::Reply::SUPERVISOR_GONE));
  lanes_.records.AwaitIdle();
  std::promise<void> last;
  lanes_.removals.Run([&last] { last.set_value(); });
  gate.set_value();
  last.get_future().wait();
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_THAT(deletions_, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(sandbox_->FindExecution("job"), nullptr);
  end.set_value();
}

TEST_F(SandboxExecutionsTest, ADeletionIsAnsweredWithTheRemovalOfTheSandbox) {
  MakeReady();
  StartOk("job");
  DeleteExecution("job");
  sandbox_->Delete(wire::ExitRecord::SANDBOX_DELETED,
                   [](const absl::Status&) {});
  AwaitLanes();
  AnswerDeletion(Failure(wire::Reply::SUPERVISOR_GONE));
  sandbox_->OnGone(Deleted());
  AwaitLanes();
  sandbox_->OnFilesRemoved();
  EXPECT_THAT(deletions_, ElementsAre(absl::OkStatus()));
}

TEST_F(SandboxExecutionsTest, WatchersOfAFailedStartSeeItsEnd) {
  MakeReady();
  Start("job");
  const auto execution = sandbox_->FindExecution("job");
  const auto watcher = std::make_shared<Watcher>(*execution);
  execution->Watch(watcher);
  AnswerStart(Failure(wire::Reply::FAULT));
  EXPECT_EQ(execution->state(), Execution::LOST);
  EXPECT_TRUE(watcher->saw_end());
}

TEST_F(SandboxExecutionsTest, WatchersOfADeletedExecutionSeeItsEnd) {
  MakeReady();
  StartOk("job");
  const auto execution = sandbox_->FindExecution("job");
  const auto watcher = std::make_shared<Watcher>(*execution);
  execution->Watch(watcher);
  DeleteExecution("job");
  AnswerDeletion(absl::OkStatus());
  EXPECT_EQ(execution->state(), Execution::LOST);
  EXPECT_TRUE(watcher->saw_end());
}

TEST_F(SandboxExecutionsTest, ReportsOfUnknownExecutionsAreIgnored) {
  MakeReady();
  Report("job", wire::ExecutionRecord::RUNNING);
  wire::OutputChange change;
  change.set_execution_id("job");
  sandbox_->OnOutput(change);
  EXPECT_EQ(sandbox_->execution_count(), 0);
}

TEST_F(SandboxExecutionsTest, OutputThatIsReportedIsKnown) {
  MakeReady();
  StartOk("job");
  wire::OutputChange change;
  change.set_execution_id("job");
  change.add_streams()->set_stream(wire::STDERR);
  change.mutable_streams(0)->set_end(5);
  sandbox_->OnOutput(change);
  EXPECT_EQ(sandbox_->FindExecution("job")->output(corral::v1::STDERR)->end, 5);
}

TEST_F(SandboxExecutionsTest, NoEndIsReportedBeforeTheDiskCanBeRead) {
  MakeReady();
  StartOk("job");
  WriteStart("job");
  Obstruct();
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), Execution::RUNNING);
  Restore();
  timers_.Advance(Recovery::kReadRetry);
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), Execution::LOST);
}

TEST_F(SandboxExecutionsTest, AnEvictionOfNothingSucceeds) {
  MakeReady();
  Answers evictions;
  sandbox_->Evict("job", Into(&evictions));
  EXPECT_THAT(evictions, ElementsAre(absl::OkStatus()));
}

}  // namespace
}  // namespace server
