#include "bridge/cli/attach/replay_guard.h"

#include "gtest/gtest.h"

namespace bridge {
namespace {

const absl::Time now = absl::UnixEpoch();

TEST(ReplayGuardTest, DropsInputDuringTheReplayAndTheAnswersToIt) {
  ReplayGuard guard;
  guard.OnReplay("a\x1b[6nb");
  EXPECT_EQ(guard.Filter("\x1b[1;1R", now), "");
  EXPECT_EQ(guard.OnReplayEnd(now), "\x1b[5n");
  EXPECT_EQ(guard.Filter("\x1b[?1;2c\x1b[", now), "");
  EXPECT_EQ(guard.Filter("0nls\n", now), "ls\n");
  EXPECT_EQ(guard.Filter("\x1b[0n", now), "\x1b[0n");
}

TEST(ReplayGuardTest, WaitsForTheAnswersToTheSameQueryInTheReplay) {
  ReplayGuard guard;
  guard.OnReplay("\x1b[5n \x1b");
  guard.OnReplay("[5n");
  guard.OnReplayEnd(now);
  EXPECT_EQ(guard.Filter("\x1b[0n\x1b[0n typed", now), "");
  EXPECT_EQ(guard.Filter("\x1b[0nls", now), "ls");
}

TEST(ReplayGuardTest, FindsAnAnswerRightAfterTheBeginningOfAnother) {
  ReplayGuard guard;
  guard.OnReplayEnd(now);
  EXPECT_EQ(guard.Filter("\x1b\x1b[\x1b[0nls", now), "ls");
}

TEST(ReplayGuardTest, GivesUpOnATerminalThatDoesNotAnswer) {
  ReplayGuard guard;
  guard.OnReplayEnd(now);
  EXPECT_EQ(guard.Filter("early", now + absl::Milliseconds(999)), "");
  EXPECT_EQ(guard.Filter("ls", now + absl::Seconds(1)), "ls");
}

}  // namespace
}  // namespace bridge
