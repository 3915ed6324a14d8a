#include "bridge/mcp/terminal/output_history.h"

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace bridge {
namespace {

using State = OutputHistory::State;

OutputHistory::TimePoint Never() {
  return std::chrono::steady_clock::now() + std::chrono::hours(1);
}

TEST(OutputHistory, KeepsOutputAndWhereItWasTyped) {
  OutputHistory history;
  history.Add(0, "abc");
  history.OnTyped();
  history.Add(3, "def");
  EXPECT_EQ(history.typed_at(), 3);
  EXPECT_EQ(history.end(), 6);
  history.Look([](const State& state) {
    EXPECT_EQ(state.Since(3), "def");
    EXPECT_EQ(state.Since(99), "");
  });
}

// Waits for `condition`, which holds once `change` has run. That runs when the
// wait has found that it does not hold.
bool AwaitChange(OutputHistory* history, const std::function<void()>& change,
                 const std::function<bool(const State&)>& condition) {
  std::thread changing;
  const bool held = history->Await(Never(), [&](const State& state) {
    if (!changing.joinable()) {
      changing = std::thread(change);
    }
    return condition(state);
  });
  changing.join();
  return held;
}

TEST(OutputHistory, WakesAWaitThatItsOutputEnds) {
  OutputHistory history;
  EXPECT_TRUE(AwaitChange(
      &history, [&] { history.Add(0, "ready"); },
      [](const State& state) { return state.Since(0) == "ready"; }));
}

TEST(OutputHistory, WakesAWaitWhenTheShellEnds) {
  OutputHistory history;
  EXPECT_TRUE(AwaitChange(
      &history, [&] { history.SetEnd(3); },
      [](const State& state) { return state.exit_code == 3; }));
}

TEST(OutputHistory, EndsAWaitAtItsDeadline) {
  OutputHistory history;
  EXPECT_FALSE(history.Await(std::chrono::steady_clock::now(),
                             [](const State&) { return false; }));
}

TEST(OutputHistory, ForgetsTheOldestOutput) {
  OutputHistory history;
  const std::string part(OutputHistory::kMaxBytes, 'x');
  uint64_t offset = 0;
  for (int i = 0; i < 4; ++i) {
    history.Add(offset, part);
    offset += part.size();
  }
  history.Look([&](const State& state) {
    EXPECT_EQ(state.end, offset);
    EXPECT_EQ(state.begin, 2 * OutputHistory::kMaxBytes);
    EXPECT_EQ(state.output.size(), 2 * OutputHistory::kMaxBytes);
  });
  // One byte more, and only the last megabyte stays.
  history.Add(offset, "y");
  history.Look([&](const State& state) {
    EXPECT_EQ(state.begin, offset + 1 - OutputHistory::kMaxBytes);
    EXPECT_EQ(state.output.size(), OutputHistory::kMaxBytes);
    EXPECT_EQ(state.output.back(), 'y');
  });
}

TEST(OutputHistory, KnowsWhenTheLastOutputCame) {
  OutputHistory history;
  OutputHistory::TimePoint made;
  history.Look([&](const State& state) { made = state.last_output; });
  while (std::chrono::steady_clock::now() <= made) {
  }
  history.Add(0, "x");
  history.Look([&](const State& state) { EXPECT_GT(state.last_output, made); });
}

TEST(OutputHistory, ForgetsTheOldestMarks) {
  OutputHistory history;
  const std::string mark = "\x1b]133;A\x07";
  uint64_t offset = 0;
  for (size_t i = 0; i <= OutputHistory::kMaxMarks; ++i) {
    history.Add(offset, mark);
    offset += mark.size();
  }
  history.Look([&](const State& state) {
    ASSERT_EQ(state.marks.size(), OutputHistory::kMaxMarks);
    EXPECT_EQ(state.marks.front().begin, mark.size());
    EXPECT_EQ(state.marks.back().end, offset);
  });
}

TEST(OutputHistory, GoesOnBehindAGap) {
  OutputHistory history;
  history.Add(0, "old\x1b]133;");
  history.Add(100, "A\x07new");
  history.Look([](const State& state) {
    EXPECT_TRUE(state.marks.empty());
    EXPECT_EQ(state.begin, 100);
    EXPECT_EQ(state.Since(0), "A\x07new");
  });
}

}  // namespace
}  // namespace bridge
