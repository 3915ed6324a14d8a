// A terminal that takes over a shell which runs already.

#include <cstdint>
#include <string>
#include <thread>

#include "bridge/mcp/terminal/terminal_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::tests::IsOk;

TEST_F(TerminalTest, TakesOverAShellWithItsOutput) {
  auto first = Start();
  EXPECT_THAT(first->Type("abc"), IsOk());
  AwaitOutput(*first, 5);
  first->Leave();
  first.reset();
  auto adopted = Terminal::Adopt(connection_.get(), Shell(), &events_);
  ASSERT_THAT(adopted.status(), IsOk());
  Terminal& terminal = **adopted;
  EXPECT_EQ(terminal.execution(), kShell);
  EXPECT_EQ(terminal.history().end(), 5);
  EXPECT_EQ(server_.screens().back().answers_from(), UINT64_MAX);
  // Earlier questions count as answered.
  EXPECT_THAT(terminal.Type("\x1b[6n"), IsOk());
  AwaitOutput(terminal, 9);
  while (server_.screens().back().answers_from() == UINT64_MAX) {
    std::this_thread::yield();
  }
  EXPECT_EQ(server_.screens().back().answers_from(), 5);
}

TEST_F(TerminalTest, ReadsTheEndOfALongOutputOfAShellThatItTakesOver) {
  auto first = Start();
  const std::string megabyte(1 << 20, 'x');
  EXPECT_THAT(first->Type(megabyte), IsOk());
  AwaitOutput(*first, megabyte.size() + 2);
  first->Leave();
  first.reset();
  auto adopted = Terminal::Adopt(connection_.get(), Shell(), &events_);
  ASSERT_THAT(adopted.status(), IsOk());
  (*adopted)->history().Look([&](const OutputHistory::State& state) {
    EXPECT_EQ(state.begin, 2);
    EXPECT_EQ(state.end, megabyte.size() + 2);
  });
}

TEST_F(TerminalTest, TakesOverAShellThatEndsMeanwhile) {
  auto first = Start();
  AwaitOutput(*first, 2);
  const corral::v1::Execution shell = Shell();
  first->Leave();
  first.reset();
  // Its output never comes.
  server_.Stop();
  server_.LoseExecution(kShell);
  server_.Start();
  auto adopted = Terminal::Adopt(connection_.get(), shell, &events_);
  ASSERT_THAT(adopted.status(), IsOk());
  EXPECT_EQ((*adopted)->exit_code(), 255);
}

}  // namespace
}  // namespace bridge
