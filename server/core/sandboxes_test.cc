// Makes, takes over and removes sandboxes on fake supervisors.

#include "server/core/sandboxes.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/errors.h"
#include "server/core/lanes.h"
#include "server/core/retention.h"
#include "server/core/sandbox.h"
#include "server/core/state_directory.h"
#include "server/core/storage_health.h"
#include "server/core/workspace_checks.h"
#include "server/runtime/activity.h"
#include "server/runtime/heap_trim.h"
#include "tests/fakes/fake_supervisor.h"
#include "tests/fakes/fake_supervisor_launcher.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::testing::IsEmpty;
using ::tests::FakeSupervisor;
using SandboxPtr = std::shared_ptr<Sandbox>;

// Longer than anything lasts here, on the clock of the test.
constexpr absl::Duration kLong = absl::Hours(1);

ino_t InodeOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_ino;
}

class Launcher : public tests::FakeSupervisorLauncher {
 public:
  // From now on, creations are refused, and their directories removed before
  // the caller goes on.
  void RefuseAtOnce(const absl::Status& status) {
    FailCreations(status);
    removes_ = true;
  }
  std::unique_ptr<sandbox::SupervisorConnection> Create(
      const wire::SandboxSpec& spec, sandbox::SupervisorObserver* observer,
      Created created) override {
    if (removes_) {
      std::filesystem::remove_all(spec.directory());
    }
    return FakeSupervisorLauncher::Create(spec, observer, std::move(created));
  }

 private:
  bool removes_ = false;
};

class SandboxesTest : public ::testing::Test {
 protected:
  SandboxesTest() {
    std::filesystem::remove_all(path_);
    options_.max_sandboxes = 4;
    options_.max_executions_per_sandbox = 4;
    BeginServer();
  }
  ~SandboxesTest() override {
    sandboxes_->DeleteAll(wire::ExitRecord::SERVER_SHUTDOWN);
    EXPECT_TRUE(activity_->AwaitNoSandbox(kLong));
    EndServer();
    std::filesystem::remove_all(path_);
  }

  // Replaces the server by another one on the same state directory, as after
  // kill -9. Supervisors live on.
  void Restart() {
    EndServer();
    BeginServer();
  }

  // Blocks until no lane has work left.
  void AwaitLanes() {
    for (int i = 0; i < 2; ++i) {
      lanes_->descriptions.AwaitIdle();
      lanes_->launches.AwaitIdle();
      lanes_->records.AwaitIdle();
      lanes_->kills.AwaitIdle();
      lanes_->removals.AwaitIdle();
    }
  }
  // The same when `duration` has passed.
  void Advance(absl::Duration duration) {
    timers_.Advance(duration);
    AwaitLanes();
  }

  static Sandboxes::NewSandbox Named(const std::string& id) {
    Sandboxes::NewSandbox wanted;
    wanted.id = id;
    return wanted;
  }
  // Begins to make a sandbox. The future gets it, or the reason why not.
  std::future<absl::StatusOr<SandboxPtr>> Begin(
      const Sandboxes::NewSandbox& wanted) {
    auto made = std::make_shared<std::promise<absl::StatusOr<SandboxPtr>>>();
    auto future = made->get_future();
    sandboxes_->Create(wanted, [made](absl::StatusOr<SandboxPtr> sandbox) {
      made->set_value(std::move(sandbox));
    });
    return future;
  }
  absl::StatusOr<SandboxPtr> Create(const Sandboxes::NewSandbox& wanted) {
    return Begin(wanted).get();
  }

  // Runs a command until it exits.
  void RunCommand(const SandboxPtr& sandbox, const std::string& id) {
    auto started = std::make_shared<std::promise<std::string>>();
    auto name = started->get_future();
    sandbox->Start({id, corral::v1::Command(), {}},
                   [started](const auto& execution) {
                     started->set_value((*execution)->name());
                   });
    factory_.Exit(name.get(), 0);
    AwaitSupervisor(sandbox->id());
  }
  // Blocks until a supervisor has done what it was asked for.
  void AwaitSupervisor(const std::string& id) {
    factory_.With(id, [](FakeSupervisor&) {});
  }
  void KillSupervisor(const std::string& id) {
    factory_.With(id, [](FakeSupervisor& supervisor) {
      supervisor.Connect(nullptr);
      supervisor.Die(wire::SandboxEnd::SUPERVISOR_DIED, "killed");
    });
  }

  // Returns a path in the directory of "box".
  std::string Box(const std::string& name) const {
    return absl::StrCat(path_, "/sandboxes/box/", name);
  }
  bool HasBox() const { return std::filesystem::exists(Box("")); }

  // Has the removal of "box" fail until the file is removed that it returns: no
  // directory can be renamed to a file.
  std::string FailRemoval() {
    const std::string obstacle = absl::StrCat(path_, "/sandboxes/.removed-box");
    std::ofstream(obstacle) << "x";
    sandboxes_->registry().Find("box")->Delete(
        wire::ExitRecord::SANDBOX_DELETED, [](const absl::Status&) {});
    lanes_->kills.AwaitIdle();
    AwaitSupervisor("box");
    AwaitLanes();
    return obstacle;
  }
  // Has the next server fail to read the description of "box" until the
  // directory is removed that it returns: no file can be read from it.
  std::string FailDescription() {
    const std::string obstacle = Box("spec.pb");
    std::filesystem::rename(obstacle, Box("aside"));
    std::filesystem::create_directory(obstacle);
    Restart();
    return obstacle;
  }

  const std::string path_ = absl::StrCat(
      ::testing::TempDir(), "/sandboxes_",
      ::testing::UnitTest::GetInstance()->current_test_info()->name());
  Launcher factory_;
  tests::FakeTimerQueue timers_;
  StorageHealth storage_;
  // They apply to the next server.
  Sandboxes::Options options_;
  WorkspaceChecks::Check check_ = [](const std::string&, bool) {
    return absl::OkStatus();
  };
  std::unique_ptr<StateDirectory> state_;
  std::unique_ptr<Activity> activity_;
  std::unique_ptr<Lanes> lanes_;
  std::unique_ptr<WorkspaceChecks> workspaces_;
  std::unique_ptr<HeapTrim> heap_;
  std::unique_ptr<Sandboxes> sandboxes_;

 private:
  void BeginServer() {
    state_ = StateDirectory::Open(path_).value();
    activity_ = std::make_unique<Activity>(
        &timers_, Activity::Options{absl::ZeroDuration()});
    lanes_ = std::make_unique<Lanes>();
    workspaces_ = std::make_unique<WorkspaceChecks>(
        [this](const std::string& path, bool read_only) {
          return check_(path, read_only);
        },
        &timers_, &lanes_->workspaces);
    heap_ = std::make_unique<HeapTrim>(&timers_, &lanes_->removals);
    sandboxes_ = std::make_unique<Sandboxes>(
        Sandboxes::Environment{
            &factory_, state_.get(), &storage_, activity_.get(), &timers_,
            lanes_.get(), workspaces_.get(), workspaces_.get(), heap_.get()},
        options_);
    EXPECT_EQ(sandboxes_->Recover(), absl::OkStatus());
    AwaitLanes();
  }
  void EndServer() {
    EXPECT_TRUE(activity_->AwaitNoStart(kLong));
    timers_.Clear();
    lanes_->Stop();
    sandboxes_.reset();
    state_.reset();
  }
};

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

TEST_F(SandboxesTest, ADescriptionIsReadAgainMoreAndMoreSlowly) {
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

TEST_F(SandboxesTest, ADescriptionIsReadAgainEachMinuteInTheEnd) {
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

TEST_F(SandboxesTest, ATornDescriptionOfASandboxThatNeverBeganIsRemoved) {
  std::filesystem::create_directory(Box(""));
  std::ofstream(Box("spec.pb")) << "torn";
  Restart();
  EXPECT_FALSE(HasBox());
  EXPECT_THAT(sandboxes_->registry().Unreadable(), IsEmpty());
}

TEST_F(SandboxesTest, ASandboxOfAnEarlierBootStaysThoughNothingShowsItsBegin) {
  wire::SandboxSpec spec;
  spec.set_id("box");
  spec.set_name("tenants/default/sandboxes/box");
  spec.set_directory(state_->SandboxPath("box"));
  spec.set_boot_id("another");
  ASSERT_TRUE(StateDirectory::WriteSpec(spec).ok());
  Restart();
  const SandboxPtr box = sandboxes_->registry().Find("box");
  ASSERT_NE(box, nullptr);
  EXPECT_EQ(box->Describe().state(), corral::v1::Sandbox::FAILED);
  EXPECT_EQ(box->Describe().failure().message(), "the host went down");
}

TEST_F(SandboxesTest, ASandboxThatHasStartedNothingIsRecordedOnceMore) {
  const auto description = [this](const std::string& id) {
    return InodeOf(absl::StrCat(path_, "/sandboxes/", id, "/spec.pb"));
  };
  ASSERT_TRUE(Create(Named("new")).ok());
  RunCommand(*Create(Named("used")), "job");
  const ino_t of_new = description("new");
  const ino_t of_used = description("used");
  Restart();
  EXPECT_NE(description("new"), of_new);
  EXPECT_EQ(description("used"), of_used);
}

TEST_F(SandboxesTest, ARefusedCreationSaysNothingOfTheDisk) {
  factory_.RefuseAtOnce(absl::InvalidArgumentError("workspace"));
  EXPECT_FALSE(Create(Named("box")).ok());
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(SandboxesTest, ADeletionGoesOnWithItsCause) {
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

TEST_F(SandboxesTest, WhatASupervisorHasMadeAheadGoesWithIt) {
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
