// A server's sandboxes on fake supervisors, which outlive the server.

#ifndef SERVER_CORE_SANDBOXES_FIXTURE_H_
#define SERVER_CORE_SANDBOXES_FIXTURE_H_

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "gtest/gtest.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/core/lanes.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes.h"
#include "server/core/state_directory.h"
#include "server/core/storage_health.h"
#include "server/core/workspace_checks.h"
#include "server/runtime/activity.h"
#include "server/runtime/heap_trim.h"
#include "tests/fakes/fake_supervisor.h"
#include "tests/fakes/fake_supervisor_launcher.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {

// Fake supervisors, and creations that are refused.
class RefusingLauncher : public tests::FakeSupervisorLauncher {
 public:
  // From now on, creations are refused, and their directories removed before
  // the caller goes on.
  void RefuseAtOnce(const absl::Status& status) {
    FailCreations(status);
    removes_ = true;
  }
  std::unique_ptr<sandbox::SupervisorConnection> Create(
      const sandbox::wire::SandboxSpec& spec,
      sandbox::SupervisorObserver* observer, Created created) override {
    if (removes_) {
      std::filesystem::remove_all(spec.directory());
    }
    return FakeSupervisorLauncher::Create(spec, observer, std::move(created));
  }

 private:
  bool removes_ = false;
};

class SandboxesFixture : public ::testing::Test {
 protected:
  // Longer than anything lasts here, on the clock of the test.
  static constexpr absl::Duration kLong = absl::Hours(1);

  SandboxesFixture() {
    std::filesystem::remove_all(path_);
    options_.max_sandboxes = 4;
    options_.max_executions_per_sandbox = 4;
    BeginServer();
  }
  ~SandboxesFixture() override {
    sandboxes_->DeleteAll(sandbox::wire::ExitRecord::SERVER_SHUTDOWN);
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
      lanes_->syncs.AwaitIdle();
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

  // Blocks until the reads of a sandbox are done that were asked for.
  void AwaitReads(const std::string& id) {
    std::promise<void> done;
    lanes_->reads.Run(id, [&done] { done.set_value(); });
    done.get_future().wait();
  }

  static Sandboxes::NewSandbox Named(const std::string& id) {
    Sandboxes::NewSandbox wanted;
    wanted.id = id;
    return wanted;
  }
  // Begins to make a sandbox. The future gets it, or the reason why not.
  std::future<absl::StatusOr<std::shared_ptr<Sandbox>>> Begin(
      const Sandboxes::NewSandbox& wanted) {
    auto made = std::make_shared<
        std::promise<absl::StatusOr<std::shared_ptr<Sandbox>>>>();
    auto future = made->get_future();
    sandboxes_->Create(
        wanted, [made](absl::StatusOr<std::shared_ptr<Sandbox>> sandbox) {
          made->set_value(std::move(sandbox));
        });
    return future;
  }
  absl::StatusOr<std::shared_ptr<Sandbox>> Create(
      const Sandboxes::NewSandbox& wanted) {
    return Begin(wanted).get();
  }

  // Runs a command until it exits.
  void RunCommand(const std::shared_ptr<Sandbox>& sandbox,
                  const std::string& id) {
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
    factory_.With(id, [](tests::FakeSupervisor&) {});
  }
  void KillSupervisor(const std::string& id) {
    factory_.With(id, [](tests::FakeSupervisor& supervisor) {
      supervisor.Connect(nullptr);
      supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "killed");
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
        sandbox::wire::ExitRecord::SANDBOX_DELETED, [](const absl::Status&) {});
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
  RefusingLauncher factory_;
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

}  // namespace server

#endif  // SERVER_CORE_SANDBOXES_FIXTURE_H_
