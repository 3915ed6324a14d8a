#include "bridge/acp/terminals/terminal_phase.h"

#include "gtest/gtest.h"

namespace bridge {
namespace {

using Phase = TerminalPhase;

TEST(TerminalPhaseTest, MakesTheseTransitionsAndNoOthers) {
  struct Row {
    Phase phase;
    Phase after_end;
    Phase after_release;
    Phase after_session_closed;
  };
  const Row rows[] = {
      {Phase::kRunning, Phase::kEnded, Phase::kReleasing, Phase::kClosing},
      {Phase::kEnded, Phase::kEnded, Phase::kDeleting, Phase::kForgotten},
      {Phase::kReleasing, Phase::kDeleting, Phase::kReleasing, Phase::kClosing},
      {Phase::kClosing, Phase::kForgotten, Phase::kClosing, Phase::kClosing},
      {Phase::kDeleting, Phase::kDeleting, Phase::kDeleting, Phase::kDeleting},
      {Phase::kForgotten, Phase::kForgotten, Phase::kForgotten,
       Phase::kForgotten},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.phase));
    EXPECT_EQ(NextPhase(row.phase, TerminalEvent::kEnded), row.after_end);
    EXPECT_EQ(NextPhase(row.phase, TerminalEvent::kReleased),
              row.after_release);
    EXPECT_EQ(NextPhase(row.phase, TerminalEvent::kSessionClosed),
              row.after_session_closed);
  }
}

TEST(TerminalPhaseTest, IsHeldUntilTheAgentOrTheSessionLetsGo) {
  EXPECT_TRUE(IsHeld(Phase::kRunning));
  EXPECT_TRUE(IsHeld(Phase::kEnded));
  EXPECT_FALSE(IsHeld(Phase::kReleasing));
  EXPECT_FALSE(IsHeld(Phase::kClosing));
  EXPECT_FALSE(IsHeld(Phase::kDeleting));
  EXPECT_FALSE(IsHeld(Phase::kForgotten));
}

}  // namespace
}  // namespace bridge
