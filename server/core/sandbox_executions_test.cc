// The executions of a sandbox: start, end and deletion.

#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "server/api/errors.h"
#include "server/core/execution.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_fixture.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using corral::v1::Execution;
using corral::v1::Loss;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SandboxExecutionsTest : public SandboxFixture {
 protected:
  // The reason of the one start's refusal.
  corral::v1::ErrorReason Refusal() {
    return starts_.size() == 1 ? ReasonOf(starts_[0])
                               : corral::v1::ERROR_REASON_UNSPECIFIED;
  }
  // A start that the supervisor refuses with `error`.
  void Refuse(const absl::Status& error) {
    MakeReady();
    Start("job");
    AnswerStart(error);
  }
  // Writes `bytes` to the log of standard output, which nobody reports.
  void WriteOutput(const std::string& id, const std::string& bytes) {
    const std::string path = absl::StrCat(path_, "/executions/", id);
    const sandbox::UniqueFd directory(::open(path.c_str(), O_PATH | O_CLOEXEC));
    sandbox::OutputLogWriter log =
        sandbox::OutputLogWriter::Create(directory.get(), "stdout").value();
    EXPECT_TRUE(log.Append(bytes.data(), bytes.size()).ok());
  }
  // The supervisor is gone while it was asked to start "job".
  void LoseStart() {
    AnswerStart(Failure(wire::Reply::SUPERVISOR_GONE));
    sandbox_->OnGone(Killed());
    AwaitLanes();
  }
};

TEST_F(SandboxExecutionsTest, AStartIsAnsweredWhenTheCommandRuns) {
  MakeReady();
  Start("job");
  ASSERT_THAT(requests_.starts, SizeIs(1));
  EXPECT_EQ(requests_.starts[0].first, "job");
  EXPECT_THAT(starts_, IsEmpty());
  Report("job", wire::ExecutionRecord::RUNNING);
  AnswerStart(absl::OkStatus());
  EXPECT_THAT(starts_, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(Get("job").state(), Execution::RUNNING);
}

TEST_F(SandboxExecutionsTest, TheSameStartTwiceAsksTheSupervisorOnce) {
  MakeReady();
  Start("job");
  Start("job");
  EXPECT_THAT(requests_.starts, SizeIs(1));
  AnswerStart(absl::OkStatus());
  EXPECT_THAT(starts_, SizeIs(2));
}

TEST_F(SandboxExecutionsTest, AStartIsRefusedUntilTheSandboxIsReady) {
  Make();
  Attach();
  Start("job");
  EXPECT_EQ(Refusal(), corral::v1::SANDBOX_NOT_READY);
  EXPECT_THAT(requests_.starts, IsEmpty());
}

TEST_F(SandboxExecutionsTest, ADiskThatTakesNoRecordFailsTheStart) {
  Refuse(Failure(wire::Reply::STORAGE));
  EXPECT_EQ(Refusal(), corral::v1::STORAGE_FAILED);
  EXPECT_EQ(sandbox_->execution_count(), 0);
}

TEST_F(SandboxExecutionsTest, ASupervisorThatIsNotReadyFailsTheStart) {
  Refuse(Failure(wire::Reply::SANDBOX_NOT_READY));
  EXPECT_EQ(Refusal(), corral::v1::SANDBOX_NOT_READY);
  EXPECT_EQ(sandbox_->execution_count(), 0);
}

TEST_F(SandboxExecutionsTest, AnIdThatOnlyTheSupervisorKnowsFailsTheStart) {
  Refuse(Failure(wire::Reply::EXECUTION_EXISTS));
  EXPECT_EQ(Refusal(), corral::v1::EXECUTION_EXISTS);
}

TEST_F(SandboxExecutionsTest, AnyOtherRefusalIsAServerFault) {
  Refuse(Failure(wire::Reply::FAULT));
  EXPECT_EQ(Refusal(), corral::v1::SERVER_FAULT);
  Start("job");
  EXPECT_THAT(requests_.starts, SizeIs(1));
}

TEST_F(SandboxExecutionsTest, AStartThatWasNotRecordedNeverHappened) {
  MakeReady();
  Start("job");
  LoseStart();
  EXPECT_EQ(Refusal(), corral::v1::SANDBOX_NOT_READY);
  EXPECT_EQ(sandbox_->execution_count(), 0);
}

TEST_F(SandboxExecutionsTest, AStartThatWasRecordedIsLostWithItsSupervisor) {
  MakeReady();
  Start("job");
  WriteStart("job");
  LoseStart();
  EXPECT_THAT(starts_, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(Get("job").state(), Execution::LOST);
  EXPECT_EQ(Get("job").loss().cause(), Loss::SUPERVISOR_DIED);
}

TEST_F(SandboxExecutionsTest, ReportsNoLossOfAStartThatADeletionOvertook) {
  MakeReady();
  Start("job");
  WriteStart("job");
  sandbox_->Delete(wire::ExitRecord::SANDBOX_DELETED,
                   [](const absl::Status&) {});
  AwaitLanes();
  AnswerStart(Failure(wire::Reply::SUPERVISOR_GONE));
  sandbox_->OnGone(Deleted());
  AwaitLanes();
  EXPECT_EQ(Refusal(), corral::v1::SANDBOX_NOT_READY);
}

TEST_F(SandboxExecutionsTest, AStartAfterTheEndOfTheSupervisorIsAnswered) {
  MakeReady();
  sandbox_->OnGone(Killed());
  AwaitLanes();
  Start("job");
  EXPECT_EQ(Refusal(), corral::v1::SANDBOX_NOT_READY);
}

TEST_F(SandboxExecutionsTest, AnEndThatOnlyTheDiskKnowsIsReported) {
  MakeReady();
  StartOk("job");
  WriteStart("job");
  wire::ExecutionRecord end = Record("job", wire::ExecutionRecord::EXITED);
  end.mutable_exit()->set_wait_status(7 << 8);
  Write("exit.pb", end);
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), Execution::EXITED);
  EXPECT_EQ(Get("job").exit().code(), 7);
}

TEST_F(SandboxExecutionsTest, OutputThatWasNotReportedIsKnownBeforeTheLoss) {
  // Keeps what is known of the output when the end is first reported.
  class Watcher : public ExecutionWatcher {
   public:
    explicit Watcher(const server::Execution& execution)
        : execution_(execution) {}
    void OnChange() override {
      if (execution_.ended() && !output_at_end_.has_value()) {
        output_at_end_ = execution_.output(corral::v1::STDOUT);
      }
    }
    const server::Execution& execution_;
    std::optional<sandbox::OutputLogState> output_at_end_;
  };
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
  ASSERT_TRUE(watcher->output_at_end_.has_value());
  EXPECT_EQ(watcher->output_at_end_->end, 4);
}

TEST_F(SandboxExecutionsTest, TwoDeletionsAskTheSupervisorOnce) {
  MakeReady();
  StartOk("job");
  DeleteExecution("job");
  DeleteExecution("job");
  EXPECT_THAT(requests_.deletions, SizeIs(1));
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
  WriteStart("job");
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

}  // namespace
}  // namespace server
