// The facts and the steps of an end, seen by the command that has it.

#include "sandbox/supervisor/command_ending.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include <cerrno>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/command_fixture.h"
#include "tests/failing_calls.h"

namespace sandbox {
namespace {

using CommandEndingTest = CommandFixture;

TEST_F(CommandEndingTest, BlamesALackOfMemoryForTheVictimOnly) {
  group_.usage.oom_kills = 1;
  is_oom_victim_ = false;
  Start();
  EndBySignal(SIGKILL);
  EXPECT_EQ(oom_questions_, 1);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::NORMAL);
}

TEST_F(CommandEndingTest, BlamesALackOfMemoryForAnyEndIfAllProcessesMustGo) {
  host_.kill_all_on_oom = true;
  group_.usage.oom_kills = 1;
  Start();
  Exit(137);
  EXPECT_EQ(oom_questions_, 0);
  EXPECT_EQ(end().exit().wait_status(), 137 << 8);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::OUT_OF_MEMORY);
  EXPECT_EQ(group_.calls.find("kill "), 0u) << "descendants may be left";
}

TEST_F(CommandEndingTest, EndsAllProcessesOnceTheKernelHasKilledOne) {
  host_.kill_all_on_oom = true;
  group_.oom_events.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Start();
  ASSERT_EQ(::eventfd_write(group_.oom_events.get(), 1), 0);
  RunLoop();
  EXPECT_EQ(group_.calls, "");
  group_.usage.oom_kills = 1;
  timers_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(group_.calls, "kill ");
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().wait_status(), SIGKILL);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::OUT_OF_MEMORY);
}

TEST_F(CommandEndingTest, LeavesTheOthersOfAKilledProcessUnlessAllMustGo) {
  group_.oom_events.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  group_.usage.oom_kills = 1;
  Start();
  ASSERT_EQ(::eventfd_write(group_.oom_events.get(), 1), 0);
  RunLoop();
  timers_.Advance(absl::Seconds(20));
  EXPECT_EQ(group_.calls, "");
  Exit(137);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::NORMAL);
}

TEST_F(CommandEndingTest, AsksNothingAboutACommandThatWasCondemned) {
  group_.usage.oom_kills = 1;
  Start();
  command_->Condemn(wire::ExitRecord::SANDBOX_DELETED);
  EndBySignal(SIGKILL);
  EXPECT_EQ(oom_questions_, 0);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::SANDBOX_DELETED);
}

TEST_F(CommandEndingTest, HasAnEndOfItsOwnThoughInitEndsToo) {
  init_ends_ = true;
  Start();
  Exit(3);
  EXPECT_EQ(end().exit().wait_status(), 3 << 8);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::NORMAL);
  EXPECT_FALSE(command_->lost());
}

TEST_F(CommandEndingTest, KeepsTheOutputOfACondemnedCommandUntilItEnds) {
  Start();
  command_->Condemn(wire::ExitRecord::SANDBOX_DELETED);
  RunLoop();
  Print("last");
  EndBySignal(SIGKILL);
  EXPECT_EQ(Output(), "last");
}

TEST_F(CommandEndingTest, DoesNotWaitForADiskForWhichTheCommandWasKilled) {
  spec().set_overflow(wire::CommandSpec::KILL);
  spec().set_retain_bytes(OutputLogWriter::kMinRetained);
  Start();
  Print("text");
  ASSERT_TRUE(tests::WithFailingCalls({SYS_splice}, EIO, [this] {
    RunLoop();
    EndBySignal(SIGKILL);
  }));
  EXPECT_EQ(group_.calls.find("kill "), 0u);
  ASSERT_EQ(states_.size(), 2u);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::OUTPUT_FAILED);
}

TEST_F(CommandEndingTest, IsNotSyncedOnceTheFilesAreRemoved) {
  Start();
  Exit(0);
  EXPECT_TRUE(command_->RemoveFiles());
  // Anything to sync would be handed over to a background that is not there.
  sync_timers_.Advance(absl::Seconds(1));
}

}  // namespace
}  // namespace sandbox
