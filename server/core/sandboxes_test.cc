// Makes and removes sandboxes on fake supervisors.

#include "server/core/sandboxes.h"

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "server/api/errors.h"
#include "server/core/retention.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::tests::FakeSupervisor;
using SandboxPtr = std::shared_ptr<Sandbox>;
using SandboxesTest = SandboxesFixture;

TEST_F(SandboxesTest, ForgetEndedExecutionsOfASandboxThatIsBeingRemoved) {
  options_.max_ended_executions = Retention::kMaxRemovals;
  Restart();
  const SandboxPtr gone = *Create(Named("gone"));
  for (size_t i = 0; i < Retention::kMaxRemovals; ++i) {
    RunCommand(gone, absl::StrCat("job-", i));
  }
  sandboxes_->registry().Remove(*gone);
  const SandboxPtr box = *Create(Named("box"));
  for (size_t i = 0; i <= Retention::kMaxRemovals; ++i) {
    RunCommand(box, absl::StrCat("job-", i));
  }
  AwaitSupervisor("box");
  // Those of the other ended before.
  EXPECT_EQ(box->execution_count(), Retention::kMaxRemovals);
  EXPECT_EQ(box->FindExecution("job-0"), nullptr);
  EXPECT_EQ(gone->execution_count(), Retention::kMaxRemovals);
  EXPECT_TRUE(sandboxes_->registry().AddExisting(gone));
}

TEST_F(SandboxesTest, ACreationIsUnderWayUntilItIsAnswered) {
  ASSERT_TRUE(Create(Named("box")).ok());
  std::promise<void> open;
  std::promise<void> entered;
  std::thread busy([&] {
    factory_.With("box", [&](FakeSupervisor&) {
      entered.set_value();
      open.get_future().wait();
    });
  });
  entered.get_future().wait();
  auto made = Begin(Named("other"));
  auto waited = std::async(std::launch::async,
                           [this] { return activity_->AwaitNoStart(kLong); });
  while (waited.wait_for(std::chrono::seconds(0)) !=
         std::future_status::ready) {
    timers_.Advance(kLong);
  }
  EXPECT_FALSE(waited.get());
  open.set_value();
  busy.join();
  EXPECT_TRUE(made.get().ok());
  EXPECT_TRUE(activity_->AwaitNoStart(kLong));
}

TEST_F(SandboxesTest, AWorkspaceThatCannotBeCheckedNowIsNoInvalidField) {
  check_ = [](const std::string& path, bool) {
    return path == "/second"
               ? SandboxUnavailable("box", "hangs", absl::Seconds(1))
               : absl::OkStatus();
  };
  Sandboxes::NewSandbox wanted = Named("box");
  wanted.wanted.mutable_workspace()->set_path("/first");
  wanted.wanted.add_further_workspaces()->set_path("/second");
  const absl::Status refused = Create(wanted).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_EQ(ReasonOf(refused), corral::v1::SANDBOX_NOT_READY);
}

TEST_F(SandboxesTest, ASandboxIsForgottenBeforeItsCallerLearnsThatItIsRefused) {
  check_ = [](const std::string&, bool) {
    return absl::InvalidArgumentError("no");
  };
  Sandboxes::NewSandbox wanted = Named("box");
  wanted.wanted.mutable_workspace()->set_path("/work");
  std::promise<SandboxPtr> known;
  sandboxes_->Create(wanted, [&](const absl::StatusOr<SandboxPtr>& made) {
    EXPECT_FALSE(made.ok());
    known.set_value(sandboxes_->registry().Find("box"));
  });
  EXPECT_EQ(known.get_future().get(), nullptr);
  EXPECT_TRUE(activity_->AwaitNoSandbox(kLong));
}

TEST_F(SandboxesTest, ACreationForWhichTheHostIsShortMayBeRepeated) {
  factory_.FailCreations(
      sandbox::MakeFailure(wire::Reply::SHORTAGE, "open files"));
  const absl::Status failed = Create(Named("box")).status();
  const absl::Status wanted = SandboxUnavailable(
      "tenants/default/sandboxes/box", "open files", absl::Milliseconds(200));
  EXPECT_EQ(failed.code(), wanted.code());
  EXPECT_EQ(ReasonOf(failed), corral::v1::SANDBOX_NOT_READY);
  EXPECT_EQ(failed.message(), wanted.message());
  constexpr char kRetryInfo[] = "type.googleapis.com/google.rpc.RetryInfo";
  EXPECT_TRUE(failed.GetPayload(kRetryInfo) == wanted.GetPayload(kRetryInfo));
  factory_.FailCreations(absl::OkStatus());
  EXPECT_TRUE(Create(Named("box")).ok());
}

TEST_F(SandboxesTest, ARemovalThatFailsIsRepeatedMoreAndMoreSlowly) {
  ASSERT_TRUE(Create(Named("box")).ok());
  const std::string obstacle = FailRemoval();
  Advance(absl::Milliseconds(100));
  std::filesystem::remove(obstacle);
  Advance(absl::Milliseconds(199));
  EXPECT_TRUE(HasBox());
  Advance(absl::Milliseconds(1));
  EXPECT_FALSE(HasBox());
}

TEST_F(SandboxesTest, ARemovalThatFailsIsRepeatedEachMinuteInTheEnd) {
  ASSERT_TRUE(Create(Named("box")).ok());
  const std::string obstacle = FailRemoval();
  for (int i = 0; i < 12; ++i) {
    Advance(absl::Minutes(1));
  }
  std::filesystem::remove(obstacle);
  Advance(absl::Minutes(1));
  EXPECT_FALSE(HasBox());
}

TEST_F(SandboxesTest, ARefusedCreationSaysNothingOfTheDisk) {
  factory_.RefuseAtOnce(absl::InvalidArgumentError("workspace"));
  EXPECT_FALSE(Create(Named("box")).ok());
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(SandboxesTest, ASandboxIsReadyBeforeTheDiskHasItsDescription) {
  // No link is followed to sync what it leads to.
  const std::string sandboxes = path_ + "/sandboxes";
  std::filesystem::rename(sandboxes, path_ + "/aside");
  std::filesystem::create_directory_symlink(path_ + "/aside", sandboxes);
  ASSERT_TRUE(Create(Named("box")).ok());
  AwaitLanes();  // the sync is planned after the answer
  Advance(absl::Milliseconds(20));
  EXPECT_NE(storage_.failure(), "");
  Advance(absl::Milliseconds(100));
  AwaitReads("box");
  EXPECT_NE(storage_.failure(), "");
  std::filesystem::remove(sandboxes);
  std::filesystem::rename(path_ + "/aside", sandboxes);
  Advance(absl::Milliseconds(200));
  AwaitReads("box");
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(SandboxesTest, NothingOfARemovedSandboxIsSynced) {
  const std::string sandboxes = path_ + "/sandboxes";
  std::filesystem::rename(sandboxes, path_ + "/aside");
  std::filesystem::create_directory_symlink(path_ + "/aside", sandboxes);
  ASSERT_TRUE(Create(Named("box")).ok());
  AwaitLanes();  // the sync is planned after the answer
  Advance(absl::Milliseconds(20));
  std::filesystem::remove(sandboxes);
  std::filesystem::rename(path_ + "/aside", sandboxes);
  sandboxes_->DeleteAll(sandbox::wire::ExitRecord::SANDBOX_DELETED);
  EXPECT_TRUE(activity_->AwaitNoSandbox(kLong));
  Advance(absl::Minutes(1));
  AwaitReads("box");
  EXPECT_FALSE(HasBox());
}

}  // namespace
}  // namespace server
