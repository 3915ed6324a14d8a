// Takes over the sandboxes of an earlier server, on fake supervisors.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/lanes.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes.h"
#include "server/core/sandboxes_fixture.h"
#include "server/core/state_directory.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::testing::IsEmpty;
using ::tests::FakeSupervisor;
using SandboxPtr = std::shared_ptr<Sandbox>;
using SandboxesRecoveryTest = SandboxesFixture;

TEST_F(SandboxesRecoveryTest, ADescriptionIsReadAgainMoreAndMoreSlowly) {
  ASSERT_TRUE(Create(Named("box")).ok());
  const std::string obstacle = FailDescription();
  Advance(absl::Milliseconds(100));
  std::filesystem::remove(obstacle);
  std::filesystem::rename(Box("aside"), obstacle);
  Advance(absl::Milliseconds(199));
  EXPECT_EQ(sandboxes_->registry().Find("box"), nullptr);
  Advance(absl::Milliseconds(1));
  EXPECT_NE(sandboxes_->registry().Find("box"), nullptr);
}

TEST_F(SandboxesRecoveryTest, ADescriptionIsReadAgainEachMinuteInTheEnd) {
  ASSERT_TRUE(Create(Named("box")).ok());
  const std::string obstacle = FailDescription();
  for (int i = 0; i < 12; ++i) {
    Advance(absl::Minutes(1));
  }
  std::filesystem::remove(obstacle);
  std::filesystem::rename(Box("aside"), obstacle);
  Advance(absl::Minutes(1));
  EXPECT_NE(sandboxes_->registry().Find("box"), nullptr);
}

TEST_F(SandboxesRecoveryTest,
       ATornDescriptionOfASandboxThatNeverBeganIsRemoved) {
  std::filesystem::create_directory(Box(""));
  std::ofstream(Box("spec.pb")) << "torn";
  Restart();
  EXPECT_FALSE(HasBox());
  EXPECT_THAT(sandboxes_->registry().Unreadable(), IsEmpty());
}

TEST_F(SandboxesRecoveryTest, RemovesDirectoriesThatNoSandboxGot) {
  state_->PrepareForNext();
  Restart();
  EXPECT_THAT(state_->ListSandboxes().value(), IsEmpty());
}

TEST_F(SandboxesRecoveryTest,
       ASandboxOfAnEarlierBootStaysThoughNothingShowsItsBegin) {
  wire::SandboxSpec spec;
  spec.set_id("box");
  spec.set_name("tenants/default/sandboxes/box");
  spec.set_directory(state_->SandboxPath("box"));
  spec.set_boot_id("another");
  ASSERT_TRUE(state_->WriteSpec(spec).ok());
  Restart();
  const SandboxPtr box = sandboxes_->registry().Find("box");
  ASSERT_NE(box, nullptr);
  EXPECT_EQ(box->Describe().state(), corral::v1::Sandbox::FAILED);
  EXPECT_EQ(box->Describe().failure().message(), "the host went down");
}

TEST_F(SandboxesRecoveryTest, ADeletionGoesOnWithItsCause) {
  ASSERT_TRUE(Create(Named("box")).ok());
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.IgnoreDeletions(true);
  });
  sandboxes_->registry().Find("box")->Delete(wire::ExitRecord::SANDBOX_EXPIRED,
                                             [](const absl::Status&) {});
  lanes_->kills.AwaitIdle();
  Restart();
  EXPECT_EQ(StateDirectory::ReadDeletion(Box(""))->cause(),
            wire::ExitRecord::SANDBOX_EXPIRED);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(wire::SandboxEnd::DELETED, "");
  });
  EXPECT_TRUE(activity_->AwaitNoSandbox(kLong));
}

TEST_F(SandboxesRecoveryTest, WhatASupervisorHasMadeAheadGoesWithIt) {
  ASSERT_TRUE(Create(Named("box")).ok());
  std::filesystem::create_directory(Box("executions"));
  std::ofstream(Box("executions/.ahead")) << "x";
  Restart();
  EXPECT_TRUE(std::filesystem::exists(Box("executions/.ahead")));
  KillSupervisor("box");
  Restart();
  EXPECT_FALSE(std::filesystem::exists(Box("executions/.ahead")));
}

}  // namespace
}  // namespace server
