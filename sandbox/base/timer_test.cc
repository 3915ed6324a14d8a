#include "sandbox/base/timer.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_timers.h"

namespace sandbox {
namespace {

class TimerTest : public ::testing::Test {
 protected:
  // Appends `letter` to log_ when it runs.
  Timer Log(int seconds, char letter) {
    return Timer(&timers_, absl::Seconds(seconds),
                 [this, letter] { log_ += letter; });
  }

  tests::FakeTimers timers_;
  std::string log_;
};

TEST_F(TimerTest, RunsOnceWhenItIsDue) {
  const Timer timer = Log(2, 'a');
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(log_, "");
  EXPECT_TRUE(timer.pending());
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(log_, "a");
  EXPECT_FALSE(timer.pending());
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(log_, "a");
}

TEST_F(TimerTest, IsNotPendingByDefault) {
  Timer timer;
  EXPECT_FALSE(timer.pending());
  timer.Cancel();
}

TEST_F(TimerTest, DoesNotRunAfterItsDestruction) {
  { const Timer timer = Log(1, 'a'); }
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(log_, "");
}

TEST_F(TimerTest, DoesNotRunAfterCancel) {
  Timer timer = Log(1, 'a');
  timer.Cancel();
  EXPECT_FALSE(timer.pending());
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(log_, "");
}

TEST_F(TimerTest, AssignmentCancelsTheEarlierTimer) {
  Timer timer = Log(1, 'a');
  timer = Log(2, 'b');
  timers_.Advance(absl::Seconds(2));
  EXPECT_EQ(log_, "b");
}

TEST_F(TimerTest, MovingKeepsTheTimerAndLeavesNothingBehind) {
  std::optional<Timer> from = Log(1, 'a');
  const Timer to = *std::move(from);
  EXPECT_FALSE(from->pending());  // NOLINT(bugprone-use-after-move)
  from.reset();
  EXPECT_TRUE(to.pending());
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(log_, "a");
}

TEST_F(TimerTest, IsNotPendingWhileItsOwnFunctionRuns) {
  Timer timer;
  timer = Timer(&timers_, absl::Seconds(1), [&] {
    log_ += timer.pending() ? 'x' : 'a';
    timer = Log(1, 'b');
  });
  timers_.Advance(absl::Seconds(2));
  EXPECT_EQ(log_, "ab");
}

TEST_F(TimerTest, KnowsWhichOfTwoIsDueFirst) {
  const Timer late = Log(2, 'b');
  const Timer early = Log(1, 'a');
  const Timer same = Log(1, 'c');
  EXPECT_TRUE(early.IsDueBefore(late));
  EXPECT_FALSE(late.IsDueBefore(early));
  EXPECT_TRUE(early.IsDueBefore(same));
  timers_.Advance(absl::Seconds(2));
  EXPECT_EQ(log_, "acb");
}

}  // namespace
}  // namespace sandbox
