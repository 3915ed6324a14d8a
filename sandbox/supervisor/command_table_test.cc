// Starting and deleting commands by the id of their execution.

#include "sandbox/supervisor/command_table.h"

#include <signal.h>
#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/init/exchange.h"
#include "sandbox/supervisor/command_table_fixture.h"
#include "tests/failing_calls.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::FailsWith;
using ::tests::IsOk;

TEST_F(CommandTableTest, FindsACommandByItsExecution) {
  StartOne();
  EXPECT_TRUE(Exists());
  EXPECT_THAT(table_.Find("e2").status(),
              FailsWith(wire::Reply::NO_SUCH_EXECUTION, HasSubstr("e2")));
  const wire::Snapshot& snapshot = Reports();
  ASSERT_EQ(snapshot.executions_size(), 1);
  EXPECT_EQ(snapshot.executions(0).id(), "e1");
}

TEST_F(CommandTableTest, RefusesASecondExecutionOfTheSameId) {
  StartOne();
  table_.Start(start_, Answer());
  EXPECT_THAT(answers_, ElementsAre(FailsWith(wire::Reply::EXECUTION_EXISTS,
                                              HasSubstr("e1 exists"))));
}

TEST_F(CommandTableTest, ForgetsACommandThatCannotBePrepared) {
  ASSERT_TRUE(
      tests::WithFailingCalls({SYS_pwrite64, SYS_pwritev2, SYS_write}, ENOSPC,
                              [this] { table_.Start(start_, Answer()); }));
  EXPECT_THAT(answers_, ElementsAre(FailsWith(wire::Reply::STORAGE,
                                              HasSubstr("No space"))));
  EXPECT_FALSE(Exists());
}

TEST_F(CommandTableTest, PreparesPartsForTheNextCommandWhenNobodyWaits) {
  StartOne();
  timers_.Advance(absl::Milliseconds(9));
  EXPECT_EQ(groups_, 1) << "the end of a short command would wait for it";
  timers_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(groups_, 2);
  const auto files = [this] {
    return std::distance(std::filesystem::directory_iterator(directory_),
                         std::filesystem::directory_iterator());
  };
  // e1, and the spare files.
  EXPECT_EQ(files(), 2);
}

TEST_F(CommandTableTest, PreparesNothingInASandboxForOneCommand) {
  host_.ephemeral = true;
  StartOne();
  Exit(0);
  timers_.Advance(absl::Milliseconds(10));
  EXPECT_EQ(groups_, 1);
}

TEST_F(CommandTableTest, RemovesTheGroupOfAnEndedCommand) {
  StartOne();
  Exit(0);
  EXPECT_EQ(group_.calls, "");
  timers_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(group_.calls, "remove ");
  EXPECT_TRUE(Exists());
}

TEST_F(CommandTableTest, KeepsTheReportAndTheIdOfASpentCommand) {
  StartOne();
  EXPECT_FALSE(IsShrunk());
  Exit(3);
  timers_.Advance(absl::Milliseconds(1));
  EXPECT_TRUE(IsShrunk());
  const wire::Snapshot& snapshot = Reports();
  ASSERT_EQ(snapshot.executions_size(), 1);
  EXPECT_EQ(snapshot.executions(0).SerializeAsString(),
            end().SerializeAsString());
  table_.Start(start_, Answer());
  EXPECT_THAT(answers_, ElementsAre(FailsWith(wire::Reply::EXECUTION_EXISTS,
                                              HasSubstr("e1 exists"))));
  table_.Clear();
  EXPECT_FALSE(Exists());
}

TEST_F(CommandTableTest, ShrinksNoCommandOfWhichProcessesAreLeft) {
  StartOne();
  group_.pids = {1};
  Exit(0);
  timers_.Advance(absl::Milliseconds(1));
  EXPECT_FALSE(IsShrunk());
}

TEST_F(CommandTableTest, ShrinksNoCommandWhoseOutputIsStillOpen) {
  StartOne();
  played_.Exit(0);
  RunLoop();
  timers_.Advance(absl::Minutes(1));
  RunLoop();
  EXPECT_TRUE(end().exit().output_open());
  EXPECT_FALSE(IsShrunk());
}

TEST_F(CommandTableTest, ShrinksNoCommandWhoseEndIsNotOnDisk) {
  table_.Start(start_, Answer());
  played_.Receive();
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_pwrite64, SYS_pwritev2, SYS_write}, ENOSPC, [this] {
        played_.Fail(SpawnStage::kExec, ENOENT, /*with_process=*/false);
        RunLoop();
      }));
  RunLoop();
  EXPECT_EQ(states_.at(0).state(), wire::ExecutionRecord::FAILED_TO_START);
  EXPECT_FALSE(HasEndOnDisk());
  EXPECT_FALSE(IsShrunk());
}

TEST_F(CommandTableTest, DeletionKillsTheCommandAndAnswersOnceItIsGone) {
  StartOne();
  table_.Delete("e1", Answer());
  table_.Delete("e1", Answer());
  EXPECT_EQ(group_.calls, "kill ");
  EXPECT_THAT(answers_, IsEmpty());
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::CLIENT_SIGNAL);
  EXPECT_THAT(answers_, ElementsAre(IsOk(), IsOk()));
  EXPECT_FALSE(Exists());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/e1"));
}

TEST_F(CommandTableTest, DeletesAnEndedCommandAtOnce) {
  StartOne();
  Exit(0);
  table_.Delete("e1", Answer());
  RunLoop();
  EXPECT_THAT(answers_, ElementsAre(IsOk()));
  EXPECT_FALSE(Exists());
  table_.Delete("e1", Answer());
  EXPECT_THAT(answers_.back(),
              FailsWith(wire::Reply::NO_SUCH_EXECUTION, HasSubstr("e1")));
}

TEST_F(CommandTableTest, DeletionWaitsForProcessesThatDoNotDie) {
  StartOne();
  group_.pids = {1};
  group_.survives = true;
  table_.Delete("e1", Answer());
  EndBySignal(SIGKILL);
  // It is asked again after 2, 4, 8, ... and at most 100 ms.
  timers_.Advance(absl::Seconds(10));
  EXPECT_THAT(answers_, IsEmpty());
  group_.pids.clear();
  timers_.Advance(absl::Milliseconds(100));
  EXPECT_THAT(answers_, ElementsAre(IsOk()));
}

TEST_F(CommandTableTest, DeletesWhatIsLeftOfASpentCommand) {
  RunOne();
  ASSERT_TRUE(IsShrunk());
  table_.Delete("e1", Answer());
  table_.Delete("e1", Answer());
  RunLoop();
  EXPECT_THAT(answers_, ElementsAre(IsOk(), IsOk()));
  EXPECT_FALSE(Exists());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/e1"));
}

TEST_F(CommandTableTest, DeletionWaitsForADiskThatKeepsTheFiles) {
  RunOne();
  ASSERT_TRUE(IsShrunk());
  ASSERT_TRUE(tests::WithFailingCalls({SYS_unlink}, EROFS, [this] {
    table_.Delete("e1", Answer());
    RunLoop();
  }));
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_THAT(storage_.failure(), HasSubstr("removal of e1"));
  timers_.Advance(absl::Milliseconds(200));
  EXPECT_THAT(answers_, ElementsAre(IsOk()));
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(CommandTableTest, CondemnsAllCommandsWithItsSandbox) {
  StartOne();
  EXPECT_TRUE(table_.AnyRuns());
  table_.Condemn(wire::ExitRecord::SANDBOX_EXPIRED);
  EndBySignal(SIGKILL);
  EXPECT_EQ(end().exit().cause(), wire::ExitRecord::SANDBOX_EXPIRED);
  EXPECT_FALSE(table_.AnyRuns());
  EXPECT_FALSE(table_.AnyIsLost());
}

TEST_F(CommandTableTest, ReportsThatACommandWasLostWithInit) {
  StartOne();
  init_ends_ = true;
  EndBySignal(SIGKILL);
  EXPECT_TRUE(table_.AnyIsLost());
  table_.Clear();
  EXPECT_FALSE(Exists());
}

TEST_F(CommandTableTest, KnowsAndReapsTheProcessesOfItsCommands) {
  StartOne();
  EXPECT_TRUE(table_.Owns(played_.child()));
  EXPECT_FALSE(table_.Owns(1));
  CloseOutput();
  played_.Exit(4);
  EXPECT_FALSE(table_.ReapIfOwn(1));
  EXPECT_TRUE(table_.ReapIfOwn(played_.child()));
  EXPECT_EQ(end().exit().wait_status(), 4 << 8);
  EXPECT_FALSE(table_.Owns(played_.child()));
}

TEST_F(CommandTableTest, RemovesGroupsThatProcessesHaveLeftSince) {
  StartOne();
  group_.pids = {1};
  Exit(0);
  EXPECT_EQ(group_.calls, "");
  group_.pids.clear();
  table_.ReleaseCgroups();
  EXPECT_EQ(group_.calls, "remove ");
}

}  // namespace
}  // namespace sandbox
