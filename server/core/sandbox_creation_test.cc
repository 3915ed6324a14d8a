// The creation of a sandbox, whose supervisor and whose disk answer in any
// order.

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_fixture.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SandboxCreationTest : public SandboxFixture {};

TEST_F(SandboxCreationTest, IsReadyWhenItIsMadeAndAttached) {
  Make();
  Answers ready;
  sandbox_->AwaitReady(Into(&ready));
  sandbox_->OnRecorded(absl::OkStatus());
  sandbox_->OnCreated(absl::OkStatus());
  EXPECT_EQ(State(), corral::v1::Sandbox::CREATING);
  EXPECT_THAT(ready, IsEmpty());
  Attach();
  EXPECT_EQ(State(), corral::v1::Sandbox::READY);
  EXPECT_THAT(ready, ElementsAre(absl::OkStatus()));
  sandbox_->AwaitReady(Into(&ready));
  EXPECT_THAT(ready, SizeIs(2));
}

TEST_F(SandboxCreationTest, IsNotReadyBeforeItIsRecorded) {
  Make();
  Attach();
  sandbox_->OnCreated(absl::OkStatus());
  EXPECT_EQ(State(), corral::v1::Sandbox::CREATING);
  sandbox_->OnRecorded(absl::OkStatus());
  EXPECT_EQ(State(), corral::v1::Sandbox::READY);
}

TEST_F(SandboxCreationTest, KillsWhatWasMadeIfItCannotBeRecorded) {
  for (const bool made_first : {false, true}) {
    requests_.kills.clear();
    emptied_.clear();
    Make();
    Attach();
    Answers ready;
    sandbox_->AwaitReady(Into(&ready));
    if (made_first) {
      sandbox_->OnCreated(absl::OkStatus());
    }
    sandbox_->OnRecorded(absl::DataLossError("fsync"));
    if (!made_first) {
      EXPECT_THAT(requests_.kills, IsEmpty()) << "it takes no requests yet";
      sandbox_->OnCreated(absl::OkStatus());
    }
    EXPECT_EQ(State(), corral::v1::Sandbox::DELETING);
    EXPECT_THAT(requests_.kills,
                ElementsAre(wire::ExitRecord::SANDBOX_DELETED));
    sandbox_->OnGone(Killed());
    AwaitLanes();
    EXPECT_THAT(emptied_, ElementsAre(sandbox_));
    EXPECT_THAT(ready, IsEmpty());
    sandbox_->OnFilesRemoved();
    EXPECT_THAT(ready, ElementsAre(absl::DataLossError("fsync")));
  }
}

TEST_F(SandboxCreationTest, HasFailedIfItDiesBeforeItCannotBeRecorded) {
  Make();
  Attach();
  Answers ready;
  sandbox_->AwaitReady(Into(&ready));
  sandbox_->OnCreated(absl::OkStatus());
  sandbox_->OnGone(Killed());
  AwaitLanes();
  sandbox_->OnRecorded(absl::DataLossError("fsync"));
  AwaitLanes();
  EXPECT_EQ(State(), corral::v1::Sandbox::FAILED);
  EXPECT_THAT(ready, ElementsAre(absl::OkStatus()));
  sandbox_->AwaitReady(Into(&ready));
  EXPECT_THAT(ready, SizeIs(2));
}

TEST_F(SandboxCreationTest, ReportsAFailedCreationWhenNothingIsLeft) {
  Make();
  Answers ready;
  sandbox_->AwaitReady(Into(&ready));
  Attach();
  sandbox_->OnCreated(absl::InvalidArgumentError("workspace"));
  EXPECT_EQ(State(), corral::v1::Sandbox::DELETING);
  sandbox_->AwaitReady(Into(&ready));
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_THAT(ready, IsEmpty());
  EXPECT_THAT(emptied_, ElementsAre(sandbox_));
  sandbox_->OnFilesRemoved();
  sandbox_->AwaitReady(Into(&ready));
  EXPECT_THAT(ready, ElementsAre(absl::InvalidArgumentError("workspace"),
                                 absl::InvalidArgumentError("workspace"),
                                 absl::InvalidArgumentError("workspace")));
}

TEST_F(SandboxCreationTest, HandlesEarlyEventsInTheirOrderWhenItIsAttached) {
  Make();
  sandbox_->OnCreated(absl::InternalError("no"));
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_THAT(emptied_, IsEmpty());
  Attach();
  AwaitLanes();
  EXPECT_THAT(emptied_, ElementsAre(sandbox_));
}

TEST_F(SandboxCreationTest, RemovesNothingOfAnAbandonedCreation) {
  Make();
  Answers ready;
  sandbox_->AwaitReady(Into(&ready));
  sandbox_->Abandon(absl::AlreadyExistsError("box"));
  EXPECT_THAT(ready, ElementsAre(absl::AlreadyExistsError("box")));
  AwaitLanes();
  EXPECT_THAT(emptied_, IsEmpty());
}

}  // namespace
}  // namespace server
