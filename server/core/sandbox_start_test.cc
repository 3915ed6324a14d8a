// The starts of a sandbox's executions.

#include <chrono>
#include <future>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "server/core/recovery.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_fixture.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using corral::v1::Execution;
using corral::v1::Loss;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Longer than anything lasts here, on the clock of the test.
constexpr absl::Duration kLong = absl::Hours(1);

class SandboxStartTest : public SandboxFixture {
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
  // The supervisor is gone while it was asked to start "job".
  void LoseStart() {
    AnswerStart(Failure(wire::Reply::SUPERVISOR_GONE));
    sandbox_->OnGone(Killed());
    AwaitLanes();
  }
};

TEST_F(SandboxStartTest, AStartIsAnsweredWhenTheCommandRuns) {
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

TEST_F(SandboxStartTest, AStartIsUnderWayUntilTheSupervisorAnswers) {
  MakeReady();
  Start("job");
  std::future<bool> waited = std::async(
      std::launch::async, [this] { return activity_.AwaitNoStart(kLong); });
  while (waited.wait_for(std::chrono::seconds(0)) !=
         std::future_status::ready) {
    timers_.Advance(kLong);
  }
  EXPECT_FALSE(waited.get());
  AnswerStart(absl::OkStatus());
  EXPECT_TRUE(activity_.AwaitNoStart(kLong));
}

TEST_F(SandboxStartTest, TheSameStartTwiceAsksTheSupervisorOnce) {
  MakeReady();
  Start("job");
  Start("job");
  EXPECT_THAT(requests_.starts, SizeIs(1));
  AnswerStart(absl::OkStatus());
  EXPECT_THAT(starts_, SizeIs(2));
}

TEST_F(SandboxStartTest, AStartIsRefusedUntilTheSandboxIsReady) {
  Make();
  Attach();
  Start("job");
  EXPECT_EQ(Refusal(), corral::v1::SANDBOX_NOT_READY);
  EXPECT_THAT(requests_.starts, IsEmpty());
}

TEST_F(SandboxStartTest, ADiskThatTakesNoRecordFailsTheStart) {
  Refuse(Failure(wire::Reply::STORAGE));
  EXPECT_EQ(Refusal(), corral::v1::STORAGE_FAILED);
  EXPECT_EQ(sandbox_->execution_count(), 0);
}

TEST_F(SandboxStartTest, ASupervisorThatIsNotReadyFailsTheStart) {
  Refuse(Failure(wire::Reply::SANDBOX_NOT_READY));
  EXPECT_EQ(Refusal(), corral::v1::SANDBOX_NOT_READY);
  EXPECT_EQ(sandbox_->execution_count(), 0);
}

TEST_F(SandboxStartTest, AnIdThatOnlyTheSupervisorKnowsFailsTheStart) {
  Refuse(Failure(wire::Reply::EXECUTION_EXISTS));
  EXPECT_EQ(Refusal(), corral::v1::EXECUTION_EXISTS);
}

TEST_F(SandboxStartTest, AnyOtherRefusalIsAServerFault) {
  Refuse(Failure(wire::Reply::FAULT));
  EXPECT_EQ(Refusal(), corral::v1::SERVER_FAULT);
  Start("job");
  EXPECT_THAT(requests_.starts, SizeIs(1));
}

TEST_F(SandboxStartTest, AStartThatWasNotRecordedNeverHappened) {
  MakeReady();
  Start("job");
  LoseStart();
  EXPECT_EQ(Refusal(), corral::v1::SANDBOX_NOT_READY);
  EXPECT_THAT(std::string(starts_[0].message()), HasSubstr("FAILED"));
  EXPECT_EQ(sandbox_->execution_count(), 0);
}

TEST_F(SandboxStartTest, AStartThatWasRecordedIsLostWithItsSupervisor) {
  MakeReady();
  Start("job");
  WriteStart("job");
  LoseStart();
  EXPECT_THAT(starts_, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(Get("job").state(), Execution::LOST);
  EXPECT_EQ(Get("job").loss().cause(), Loss::SUPERVISOR_DIED);
}

TEST_F(SandboxStartTest, ReportsNoLossOfAStartThatADeletionOvertook) {
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

TEST_F(SandboxStartTest, AStartAfterTheEndOfTheSupervisorIsAnswered) {
  MakeReady();
  sandbox_->OnGone(Killed());
  AwaitLanes();
  Start("job");
  EXPECT_EQ(Refusal(), corral::v1::SANDBOX_NOT_READY);
}

TEST_F(SandboxStartTest, AStartIsAnsweredByTheReportThatTheCommandRuns) {
  MakeReady();
  Start("job");
  Report("job", wire::ExecutionRecord::STARTING);
  EXPECT_THAT(starts_, IsEmpty());
  Report("job", wire::ExecutionRecord::RUNNING);
  EXPECT_THAT(starts_, ElementsAre(absl::OkStatus()));
}

TEST_F(SandboxStartTest, AHostThatLacksAProtectionFailsTheStart) {
  Refuse(Failure(wire::Reply::ISOLATION));
  EXPECT_EQ(Refusal(), corral::v1::ISOLATION_UNAVAILABLE);
  EXPECT_TRUE(absl::IsFailedPrecondition(starts_[0]));
}

TEST_F(SandboxStartTest, AnOldSupervisorStartsNoCommandWithAnIdOfItsOwn) {
  Refuse(Failure(wire::Reply::UNKNOWN_REQUEST));
  EXPECT_EQ(Refusal(), corral::v1::ISOLATION_UNAVAILABLE);
  EXPECT_THAT(std::string(starts_[0].message()), HasSubstr("version"));
}

TEST_F(SandboxStartTest, AStartThatAFailureOvertookNamesTheFailure) {
  Refuse(Failure(wire::Reply::SANDBOX_NOT_READY));
  EXPECT_THAT(std::string(starts_[0].message()), HasSubstr("FAILED"));
}

TEST_F(SandboxStartTest, AStartThatADeletionOvertookNamesTheDeletion) {
  MakeReady();
  Start("job");
  sandbox_->Delete(wire::ExitRecord::SANDBOX_DELETED,
                   [](const absl::Status&) {});
  AnswerStart(Failure(wire::Reply::SANDBOX_NOT_READY));
  ASSERT_THAT(starts_, SizeIs(1));
  EXPECT_THAT(std::string(starts_[0].message()), HasSubstr("DELETING"));
}

TEST_F(SandboxStartTest, AStartIsNotAnsweredBeforeItsSupervisorIsGone) {
  MakeReady();
  Start("job");
  AnswerStart(Failure(wire::Reply::SUPERVISOR_GONE));
  AwaitLanes();
  EXPECT_THAT(starts_, IsEmpty());
}

TEST_F(SandboxStartTest, AStartThatNobodyCanReadMayHaveHappened) {
  MakeReady();
  Start("job");
  WriteStart("job");
  Obstruct();
  LoseStart();
  for (int attempt = 1; attempt < Recovery::kReadAttempts; ++attempt) {
    EXPECT_THAT(starts_, IsEmpty());
    timers_.Advance(Recovery::kReadRetry);
    AwaitLanes();
  }
  EXPECT_THAT(starts_, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(Get("job").state(), Execution::LOST);
}

}  // namespace
}  // namespace server
