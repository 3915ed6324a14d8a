#include "bridge/mcp/terminal/output_history.h"

#include <chrono>
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

TEST(OutputHistory, WakesAWaitThatItsOutputEnds) {
  OutputHistory history;
  std::thread writer([&] { history.Add(0, "ready"); });
  EXPECT_TRUE(history.Await(
      Never(), [](const State& state) { return state.Since(0) == "ready"; }));
  writer.join();
}

TEST(OutputHistory, WakesAWaitWhenTheShellEnds) {
  OutputHistory history;
  std::thread shell([&] { history.SetEnd(3); });
  EXPECT_TRUE(history.Await(
      Never(), [](const State& state) { return state.exit_code == 3; }));
  shell.join();
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
    EXPECT_LE(state.output.size(), 2 * OutputHistory::kMaxBytes);
    EXPECT_EQ(state.begin + state.output.size(), state.end);
  });
}

TEST(OutputHistory, GoesOnBehindAGap) {
  OutputHistory history;
  history.Add(0, "old");
  history.Add(100, "new");
  history.Look([](const State& state) {
    EXPECT_EQ(state.begin, 100);
    EXPECT_EQ(state.Since(0), "new");
  });
}

}  // namespace
}  // namespace bridge
