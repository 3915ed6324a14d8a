// The deletion of a sandbox: its record, its timer and what it waits for.

#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/sandbox.h"
#include "server/core/sandbox_fixture.h"
#include "server/core/teardown_queue.h"
#include "server/runtime/worker_pool.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SandboxDeletionTest : public SandboxFixture {
 protected:
  void Delete() {
    sandbox_->Delete(wire::ExitRecord::SANDBOX_DELETED,
                     [](const absl::Status&) {});
  }
};

TEST_F(SandboxDeletionTest, LeavesNoTimerAfterItsDeletionIsRecorded) {
  MakeReady();
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  for (int i = 0; i < 2; ++i) {
    lanes_.kills.Run([open] { open.wait(); });
  }
  Delete();
  EXPECT_EQ(timers_.size(), 1);
  gate.set_value();
  AwaitLanes();
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(SandboxDeletionTest, LeavesNoTimerIfItsDeletionIsRecordedAtOnce) {
  // The deletion is recorded before the timer for a disk that hangs is set.
  class SlowTimerQueue : public tests::FakeTimerQueue {
   public:
    explicit SlowTimerQueue(WorkerPool* lane) : lane_(lane) {}
    Id RunAfter(absl::Duration delay,
                absl::AnyInvocable<void()> function) override {
      lane_->AwaitIdle();
      return FakeTimerQueue::RunAfter(delay, std::move(function));
    }

   private:
    WorkerPool* const lane_;
  };
  SlowTimerQueue timers(&lanes_.kills);
  Sandbox::Environment environment = Environment();
  environment.timers = &timers;
  wire::SandboxSpec spec;
  spec.set_directory(path_);
  sandbox_ = Sandbox::Create(spec, environment, Sandbox::Origin::kNew);
  Attach();
  sandbox_->OnCreated(absl::OkStatus());
  Delete();
  EXPECT_THAT(requests_.kills, SizeIs(1));
  EXPECT_EQ(timers.size(), 0);
  sandbox_.reset();
  AwaitLanes();
}

TEST_F(SandboxDeletionTest, ADeletionWithoutASupervisorWaitsForItsEnd) {
  Make(Sandbox::Origin::kEarlierServer);
  Delete();
  sandbox_->Attach(nullptr);
  AwaitLanes();
  EXPECT_THAT(emptied_, IsEmpty());
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_THAT(emptied_, ElementsAre(sandbox_));
}

TEST_F(SandboxDeletionTest, AnswersCallersOfItsCreationBeforeItsFilesAreGone) {
  Make();
  Answers ready;
  sandbox_->AwaitReady(Into(&ready));
  Attach();
  Delete();
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_THAT(emptied_, ElementsAre(sandbox_));
  EXPECT_THAT(ready, ElementsAre(absl::OkStatus()));
}

TEST_F(SandboxDeletionTest, LosesACommandThatRanThoughOnlyItsStartWasWritten) {
  MakeReady();
  StartOk("job");
  WriteStart("job");
  Delete();
  AwaitLanes();
  sandbox_->OnGone(Deleted());
  AwaitLanes();
  EXPECT_EQ(Get("job").state(), corral::v1::Execution::LOST);
}

TEST_F(SandboxDeletionTest, ADeletionReadsNoRecordsIfNothingRuns) {
  MakeReady();
  std::ofstream(absl::StrCat(path_, "/executions")) << "no directory";
  Delete();
  AwaitLanes();
  sandbox_->OnGone(Deleted());
  AwaitLanes();
  EXPECT_THAT(emptied_, ElementsAre(sandbox_));
}

TEST_F(SandboxDeletionTest, WaitsForItsTurnWithARecordOfTheDeletion) {
  MakeReady();
  std::optional<TeardownQueue::Turn> other;
  teardowns_->Enter(
      [&](TeardownQueue::Turn turn) { other.emplace(std::move(turn)); });
  Delete();
  AwaitLanes();
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(path_, "/deleting.pb")));
  EXPECT_EQ(State(), corral::v1::Sandbox::DELETING);
  EXPECT_THAT(requests_.kills, IsEmpty());
  other.reset();
  EXPECT_THAT(requests_.kills, ElementsAre(wire::ExitRecord::SANDBOX_DELETED));
}

TEST_F(SandboxDeletionTest, GivesItsTurnBackWhenItsSupervisorHasAnswered) {
  requests_.answers_kills = false;
  MakeReady();
  Delete();
  AwaitLanes();
  EXPECT_THAT(requests_.kills, SizeIs(1));
  bool next = false;
  teardowns_->Enter([&](const TeardownQueue::Turn&) { next = true; });
  EXPECT_FALSE(next);
  requests_.killed.front()(absl::OkStatus());
  requests_.killed.clear();
  EXPECT_TRUE(next);
}

TEST_F(SandboxDeletionTest, TakesNoTurnOnceItIsGone) {
  MakeReady();
  std::optional<TeardownQueue::Turn> other;
  teardowns_->Enter(
      [&](TeardownQueue::Turn turn) { other.emplace(std::move(turn)); });
  Delete();
  AwaitLanes();
  sandbox_->OnGone(Killed());
  AwaitLanes();
  EXPECT_THAT(emptied_, ElementsAre(sandbox_));
  bool next = false;
  teardowns_->Enter([&](const TeardownQueue::Turn&) { next = true; });
  other.reset();
  EXPECT_THAT(requests_.kills, IsEmpty());
  EXPECT_TRUE(next);
}

TEST_F(SandboxDeletionTest, LogsThatItCannotRecordItsDeletion) {
  MakeReady();
  // No file can be renamed to a directory.
  std::filesystem::create_directories(absl::StrCat(path_, "/deleting.pb"));
  ::testing::internal::CaptureStderr();
  Delete();
  AwaitLanes();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("cannot record the deletion of tenants/default/"
                        "sandboxes/box: "));
  EXPECT_THAT(requests_.kills, SizeIs(1));
}

TEST_F(SandboxDeletionTest, LogsNothingIfTheDirectoryOfADeletionIsGone) {
  MakeReady();
  std::filesystem::remove_all(path_);
  ::testing::internal::CaptureStderr();
  Delete();
  AwaitLanes();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace server
