#include "bridge/cli/attach/replay_guard.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

const absl::Time kNow = absl::UnixEpoch();
constexpr absl::Duration kPatience = absl::Seconds(1);

TEST(ReplayGuardTest, DropsInputDuringTheReplayAndTheAnswersToIt) {
  ReplayGuard guard(kPatience);
  guard.OnReplay("a\x1b[6nb");
  EXPECT_EQ(guard.Filter("\x1b[1;1R", kNow), "");
  EXPECT_EQ(guard.OnReplayEnd(kNow), "\x1b[5n");
  EXPECT_EQ(guard.Filter("\x1b[?1;2c\x1b[", kNow), "");
  EXPECT_EQ(guard.Filter("0nls\n", kNow), "ls\n");
  EXPECT_EQ(guard.Filter("\x1b[0n", kNow), "\x1b[0n");
}

TEST(ReplayGuardTest, WaitsForTheAnswersToTheSameQueryInTheReplay) {
  ReplayGuard guard(kPatience);
  guard.OnReplay("\x1b[5n \x1b");
  guard.OnReplay("[5n");
  guard.OnReplayEnd(kNow);
  EXPECT_EQ(guard.Filter("\x1b[0n\x1b[0n typed", kNow), "");
  EXPECT_EQ(guard.Filter("\x1b[0nls", kNow), "ls");
}

TEST(ReplayGuardTest, FindsAnAnswerRightAfterTheBeginningOfAnother) {
  ReplayGuard guard(kPatience);
  guard.OnReplayEnd(kNow);
  EXPECT_EQ(guard.Filter("\x1b\x1b[\x1b[0nls", kNow), "ls");
}

TEST(ReplayGuardTest, GivesUpOnATerminalThatDoesNotAnswer) {
  ReplayGuard guard(kPatience);
  guard.OnReplayEnd(kNow);
  EXPECT_EQ(guard.Filter("early", kNow + kPatience - absl::Milliseconds(1)),
            "");
  EXPECT_EQ(guard.Filter("ls", kNow + kPatience), "ls");
}

}  // namespace
}  // namespace bridge
