// The creation of a sandbox.

#include "absl/status/status.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_fixture.h"

namespace server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SandboxCreationTest : public SandboxFixture {};

TEST_F(SandboxCreationTest, IsReadyWhenItIsMadeAndAttached) {
  Make();
  Answers ready;
  sandbox_->AwaitReady(Into(&ready));
  sandbox_->OnCreated(absl::OkStatus());
  EXPECT_EQ(State(), corral::v1::Sandbox::CREATING);
  EXPECT_THAT(ready, IsEmpty());
  Attach();
  EXPECT_EQ(State(), corral::v1::Sandbox::READY);
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
