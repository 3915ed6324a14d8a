// The answers that the supervisor takes from a spawner.

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/supervisor/spawner_fixture.h"
#include "tests/no_descriptors.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;

TEST_F(SpawnerTest, TreatsASuccessWithoutAPidfdAsTheEndOfTheSpawner) {
  spawner_->Spawn(Job(command_));
  Answer(0, {});
  loop_->Run();
  EXPECT_EQ(lost_, 1);
  EXPECT_THAT(answers_, ElementsAre());
}

TEST_F(SpawnerTest, TreatsAnUnexpectedAnswerAsTheEndOfTheSpawner) {
  Answer(0, {});
  loop_->Run();
  EXPECT_EQ(lost_, 1);
}

TEST_F(SpawnerTest, TreatsAFailureThatNobodyAwaitsAsTheEndOfTheSpawner) {
  Answer(ENOENT, {});
  loop_->Run();
  EXPECT_EQ(lost_, 1);
}

TEST_F(SpawnerTest, TreatsAShortAnswerAsTheEndOfTheSpawner) {
  spawner_->Spawn(Job(command_));
  ASSERT_TRUE(SendWithFds(theirs_.get(), "", 1, {0}).ok());
  loop_->Run();
  EXPECT_EQ(lost_, 1);
  EXPECT_THAT(answers_, ElementsAre());
}

TEST_F(SpawnerTest, TreatsAnAnswerThatCannotBeAsTheEndOfTheSpawner) {
  const UniqueFd child = Child();
  struct Wrong {
    int stage;
    int error;
    std::vector<int> fds;
    SpawnTimes times = {0, 0, 0};
  };
  const Wrong answers[] = {
      // It executes, but there is an error.
      {0, ENOENT, {child.get()}},
      // It does not execute, but there is none, or one that no call has.
      {6, 0, {child.get()}},
      {6, -1, {}},
      {6, 4096, {}},
      // There is no such stage.
      {1, ENOENT, {}},
      {7, ENOENT, {}},
      {-1, ENOENT, {}},
      // A command is one process.
      {0, 0, {child.get(), child.get()}},
      // No clock has these times.
      {0, 0, {child.get()}, {-1, 1, 1}},
      {0, 0, {child.get()}, {1, -1, 1}},
      {0, 0, {child.get()}, {1, 1, INT64_MIN}},
  };
  for (const Wrong& wrong : answers) {
    Connect();
    lost_ = 0;
    spawner_->Spawn(Job(command_));
    const SpawnAnswer answer = {static_cast<SpawnStage>(wrong.stage),
                                wrong.error, wrong.times};
    ASSERT_TRUE(
        SendWithFds(theirs_.get(), &answer, sizeof(answer), wrong.fds).ok());
    loop_->Run();
    EXPECT_EQ(lost_, 1) << wrong.stage << ", " << wrong.error;
  }
  EXPECT_THAT(answers_, ElementsAre());
}

TEST_F(SpawnerTest, TreatsALongAnswerAsTheEndOfTheSpawner) {
  spawner_->Spawn(Job(command_));
  const SpawnAnswer answers[] = {{SpawnStage::kExec, ENOENT},
                                 {SpawnStage::kNone, 0}};
  ASSERT_TRUE(SendWithFds(theirs_.get(), answers, sizeof(answers), {}).ok());
  loop_->Run();
  EXPECT_EQ(lost_, 1);
  EXPECT_THAT(answers_, ElementsAre());
}

TEST_F(SpawnerTest, TakesNoDescriptorButThatOfAChild) {
  const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd other(
      static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  for (const UniqueFd* fd : {&file, &other}) {
    for (const int error : {0, ENOENT}) {
      Connect();
      lost_ = 0;
      spawner_->Spawn(Job(command_));
      Answer(error, {fd->get()});
      loop_->Run();
      EXPECT_EQ(lost_, 1) << error;
    }
  }
  EXPECT_THAT(answers_, ElementsAre());
}

TEST_F(SpawnerTest, PassesTheProcessOfAFailureOn) {
  spawner_->Spawn(Job(command_));
  Answer(ENOENT, {Child().get()});
  loop_->Run();
  EXPECT_THAT(answers_, ElementsAre(ENOENT));
  EXPECT_TRUE(pidfd_.valid());
}

TEST_F(SpawnerTest, ReceivesAPidfdWhenNoOtherDescriptorIsLeft) {
  spawner_->Spawn(Job(command_));
  Answer(0, {Child().get()});
  {
    const tests::NoDescriptors none;
    loop_->Run();
  }
  EXPECT_THAT(answers_, ElementsAre(0));
  EXPECT_TRUE(pidfd_.valid());
}

}  // namespace
}  // namespace sandbox
