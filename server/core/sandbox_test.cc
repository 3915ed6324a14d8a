// The life of a sandbox: deletion and failure.

#include "server/core/sandbox.h"

#include <sys/stat.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/errors.h"
#include "server/core/sandbox_fixture.h"
#include "server/core/state_directory.h"
#include "server/core/viewers.h"
#include "server/runtime/activity.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using corral::v1::Execution;
using corral::v1::Loss;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SandboxTest : public SandboxFixture {
 protected:
  void Delete(wire::ExitRecord::Cause cause) {
    sandbox_->Delete(cause, Into(&removed_));
  }

  Answers removed_;
};

TEST_F(SandboxTest, RecordsItsDeletionBeforeItKills) {
  MakeReady();
  Delete(wire::ExitRecord::SANDBOX_EXPIRED);
  EXPECT_EQ(State(), corral::v1::Sandbox::DELETING);
  AwaitLanes();
  const auto recorded = StateDirectory::ReadDeletion(path_);
  ASSERT_TRUE(recorded.has_value());
  EXPECT_EQ(recorded->cause(), wire::ExitRecord::SANDBOX_EXPIRED);
  EXPECT_THAT(requests_.kills, ElementsAre(wire::ExitRecord::SANDBOX_EXPIRED));
}

TEST_F(SandboxTest, KillsOnceWithTheCauseOfTheFirstDeletion) {
  MakeReady();
  Delete(wire::ExitRecord::SANDBOX_EXPIRED);
  Delete(wire::ExitRecord::SERVER_SHUTDOWN);
  AwaitLanes();
  EXPECT_THAT(requests_.kills, ElementsAre(wire::ExitRecord::SANDBOX_EXPIRED));
  EXPECT_THAT(removed_, IsEmpty());
  sandbox_->OnGone(Deleted());
  AwaitLanes();
  EXPECT_THAT(removed_, IsEmpty());
  sandbox_->OnFilesRemoved();
  EXPECT_THAT(removed_, ElementsAre(absl::OkStatus(), absl::OkStatus()));
  Delete(wire::ExitRecord::SANDBOX_DELETED);
  EXPECT_THAT(removed_, SizeIs(3));
}

TEST_F(SandboxTest, IsKilledWhenMadeIfItWasDeletedBefore) {
  Make();
  Attach();
  Delete(wire::ExitRecord::SERVER_SHUTDOWN);
  AwaitLanes();
  EXPECT_THAT(requests_.kills, IsEmpty());
  Answers ready;
  sandbox_->AwaitReady(Into(&ready));
  sandbox_->OnCreated(absl::OkStatus());
  EXPECT_THAT(ready, ElementsAre(absl::OkStatus()));
  AwaitLanes();
  EXPECT_THAT(requests_.kills, ElementsAre(wire::ExitRecord::SERVER_SHUTDOWN));
}

TEST_F(SandboxTest, AKillDoesNotWaitForRemovals) {
  MakeReady();
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  // More than the lane has threads.
  for (int i = 0; i < 10; ++i) {
    lanes_.removals.Run([open] { open.wait(); });
  }
  Delete(wire::ExitRecord::SANDBOX_DELETED);
  lanes_.kills.AwaitIdle();
  EXPECT_THAT(requests_.kills, SizeIs(1));
  gate.set_value();
}

TEST_F(SandboxTest, AKillWaitsOnlyAWhileForADiskThatHangs) {
  MakeReady();
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  for (int i = 0; i < 10; ++i) {
    lanes_.kills.Run([open] { open.wait(); });
  }
  Delete(wire::ExitRecord::SANDBOX_DELETED);
  timers_.Advance(Sandbox::kRecordPatience - absl::Milliseconds(1));
  EXPECT_THAT(requests_.kills, IsEmpty());
  timers_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(requests_.kills, SizeIs(1));
  gate.set_value();
  AwaitLanes();
  EXPECT_THAT(requests_.kills, SizeIs(1));
  EXPECT_TRUE(StateDirectory::ReadDeletion(path_).has_value());
}

TEST_F(SandboxTest, FailsWhenItsSupervisorGoesUnasked) {
  MakeReady();
  StartOk("job");
  WriteStart("job");
  sandbox_->OnGone(InitDied());
  AwaitLanes();
  EXPECT_EQ(State(), corral::v1::Sandbox::FAILED);
  EXPECT_EQ(sandbox_->Describe().failure().message(), "init died");
  EXPECT_EQ(sandbox_->supervisor(), nullptr);
  EXPECT_EQ(Get("job").state(), Execution::LOST);
  EXPECT_EQ(Get("job").loss().cause(), Loss::SANDBOX_FAILED);
  EXPECT_EQ(Get("job").loss().message(), "init died");
  EXPECT_THAT(emptied_, IsEmpty());
}

TEST_F(SandboxTest, IsRemovedAfterAFailureWhenItIsDeleted) {
  MakeReady();
  sandbox_->OnGone(Killed());
  AwaitLanes();
  Delete(wire::ExitRecord::SANDBOX_DELETED);
  AwaitLanes();
  EXPECT_TRUE(StateDirectory::ReadDeletion(path_).has_value());
  EXPECT_THAT(requests_.kills, IsEmpty());
  EXPECT_THAT(emptied_, ElementsAre(sandbox_));
}

TEST_F(SandboxTest, RemovesThePlaceholdersThatAKilledSupervisorLeft) {
  const std::string workspace =
      std::filesystem::canonical(path_).string() + "/workspace";
  wire::SandboxSpec spec;
  spec.set_workspace(workspace);
  spec.add_read_only_paths("ci");
  const std::string placeholder = workspace + "/ci";
  std::filesystem::create_directories(placeholder);
  EXPECT_EQ(::chmod(placeholder.c_str(), S_ISVTX | 0755), 0);
  MakeReady(spec);
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_TRUE(std::filesystem::exists(placeholder));
  timers_.Advance(Sandbox::kPlaceholderDelay);
  AwaitLanes();
  EXPECT_FALSE(std::filesystem::exists(placeholder));
}

TEST_F(SandboxTest, LeavesPlaceholdersToASupervisorThatEndedAsAsked) {
  const std::string workspace =
      std::filesystem::canonical(path_).string() + "/workspace";
  wire::SandboxSpec spec;
  spec.set_workspace(workspace);
  spec.add_further_workspaces()->set_path(workspace);
  spec.mutable_further_workspaces(0)->add_read_only_paths("ci");
  const std::string placeholder = workspace + "/ci";
  std::filesystem::create_directories(placeholder);
  EXPECT_EQ(::chmod(placeholder.c_str(), S_ISVTX | 0755), 0);
  MakeReady(spec);
  Delete(wire::ExitRecord::SANDBOX_DELETED);
  AwaitLanes();
  sandbox_->OnGone(Deleted());
  sandbox_->RemoveLeftPlaceholders();
  timers_.Advance(Sandbox::kPlaceholderDelay);
  AwaitLanes();
  EXPECT_TRUE(std::filesystem::exists(placeholder));
  sandbox_->OnGone(Killed());
  sandbox_->RemoveLeftPlaceholders();
  EXPECT_FALSE(std::filesystem::exists(placeholder));
}

TEST_F(SandboxTest, PrefersTheSupervisorsReasonToTheServersGuess) {
  MakeReady();
  StartOk("job");
  WriteStart("job");
  ASSERT_TRUE(StateDirectory::WriteFailure(path_, InitDied()).ok());
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_EQ(Get("job").loss().cause(), Loss::SANDBOX_FAILED);
  EXPECT_EQ(sandbox_->Describe().failure().message(), "init died");
}

TEST_F(SandboxTest, ItsStorageFailureEndsWithItsSupervisor) {
  MakeReady();
  wire::Storage storage;
  storage.set_failure("no space");
  sandbox_->OnStorage(storage);
  EXPECT_NE(storage_.failure(), "");
  sandbox_->OnGone(Killed());
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(SandboxTest, IsDeletedWhenNobodyHasWatchedItForLongEnough) {
  MakeReady();
  sandbox_->BeginViewing();
  sandbox_->EndViewing();
  timers_.Advance(Viewers::kPatience);
  AwaitLanes();
  EXPECT_THAT(requests_.kills, ElementsAre(wire::ExitRecord::SANDBOX_DELETED));
}

TEST_F(SandboxTest, IsDeletedAtItsAge) {
  wire::SandboxSpec spec;
  spec.set_max_age_ns(absl::ToInt64Nanoseconds(absl::Hours(1)));
  spec.set_create_time_ns(absl::ToUnixNanos(absl::Now()));
  MakeReady(spec);
  sandbox_->BeginLifetime();
  timers_.Advance(absl::Minutes(59));
  EXPECT_EQ(State(), corral::v1::Sandbox::READY);
  timers_.Advance(absl::Minutes(1));
  AwaitLanes();
  EXPECT_THAT(requests_.kills, ElementsAre(wire::ExitRecord::SANDBOX_EXPIRED));
}

TEST_F(SandboxTest, HasNoAgeWithoutAMaximum) {
  MakeReady();
  sandbox_->BeginLifetime();
  timers_.Advance(absl::Hours(24 * 365));
  AwaitLanes();
  EXPECT_EQ(State(), corral::v1::Sandbox::READY);
}

TEST_F(SandboxTest, LivesNoLongerThanItsAgeIfItsCreationLiesInTheFuture) {
  wire::SandboxSpec spec;
  spec.set_max_age_ns(absl::ToInt64Nanoseconds(absl::Hours(1)));
  spec.set_create_time_ns(absl::ToUnixNanos(absl::Now() + absl::Hours(9)));
  MakeReady(spec);
  sandbox_->BeginLifetime();
  timers_.Advance(absl::Minutes(59));
  EXPECT_EQ(State(), corral::v1::Sandbox::READY);
  timers_.Advance(absl::Minutes(1));
  AwaitLanes();
  EXPECT_THAT(requests_.kills, ElementsAre(wire::ExitRecord::SANDBOX_EXPIRED));
}

TEST_F(SandboxTest, ReportsTheCauseOfItsFailureToClients) {
  struct Case {
    wire::SandboxEnd::Cause cause;
    absl::StatusCode code;
    Loss::Cause loss;
  };
  for (const Case& each : std::vector<Case>{
           {wire::SandboxEnd::INIT_DIED, absl::StatusCode::kInternal,
            Loss::SANDBOX_FAILED},
           {wire::SandboxEnd::SPAWNER_DIED, absl::StatusCode::kInternal,
            Loss::SANDBOX_FAILED},
           {wire::SandboxEnd::HOST_RESTARTED, absl::StatusCode::kAborted,
            Loss::HOST_RESTARTED},
           {wire::SandboxEnd::SUPERVISOR_DIED, absl::StatusCode::kUnavailable,
            Loss::SUPERVISOR_DIED}}) {
    std::filesystem::remove_all(path_);
    MakeReady();
    StartOk("job");
    WriteStart("job");
    sandbox_->OnGone(End(each.cause, "why"));
    AwaitLanes();
    EXPECT_EQ(sandbox_->Describe().failure().code(),
              static_cast<int>(each.code));
    EXPECT_EQ(Get("job").loss().cause(), each.loss);
  }
}

TEST_F(SandboxTest, WritesDownWhyItFailedForTheNextServer) {
  MakeReady();
  sandbox_->OnGone(Killed());
  AwaitLanes();
  ASSERT_TRUE(StateDirectory::ReadFailure(path_).has_value());
  EXPECT_EQ(StateDirectory::ReadFailure(path_)->message(), "killed");
}

TEST_F(SandboxTest, WritesDownNoFailureIfAnEarlierServerHadItDeleted) {
  MakeReady();
  StartOk("job");
  WriteStart("job");
  sandbox_->OnGone(Deleted());
  AwaitLanes();
  EXPECT_FALSE(StateDirectory::ReadFailure(path_).has_value());
  EXPECT_EQ(sandbox_->Describe().failure().message(), "the supervisor ended");
  EXPECT_EQ(Get("job").loss().message(), "the supervisor ended");
}

TEST_F(SandboxTest, LosesACommandWhoseEndWasNotWrittenBeforeItsDeletion) {
  MakeReady();
  StartOk("job");
  Delete(wire::ExitRecord::SANDBOX_DELETED);
  AwaitLanes();
  sandbox_->OnGone(Deleted());
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), Execution::LOST);
}

TEST_F(SandboxTest, ResetsTheConnectionsToItsServersWhenItEnds) {
  class Call final : public LastingCall {
   public:
    void Fail(const absl::Status& status) override { status_ = status; }
    const absl::Status& status() const { return status_; }

   private:
    absl::Status status_;
  };
  MakeReady();
  const auto call = std::make_shared<Call>();
  ASSERT_EQ(sandbox_->connections().Add(call.get(), call), absl::OkStatus());
  sandbox_->OnGone(Killed());
  EXPECT_EQ(ReasonOf(call->status()), corral::v1::CONNECTION_RESET);
}

TEST_F(SandboxTest, ClosesTheConnectionToASupervisorThatIsGone) {
  MakeReady();
  const std::weak_ptr<sandbox::SupervisorConnection> connection =
      sandbox_->supervisor();
  EXPECT_FALSE(connection.expired());
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_TRUE(connection.expired());
}

}  // namespace
}  // namespace server
