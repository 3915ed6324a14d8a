// The memory of a terminal: what stays when it is cleared or reset.

#include <string>

#include "corral/v1/screen.pb.h"
#include "gtest/gtest.h"
#include "server/screen/emulator/screen_message.h"
#include "server/screen/emulator/terminal.h"

namespace screen {
namespace {

class TerminalMemoryTest : public ::testing::Test {
 protected:
  corral::v1::Screen Show(const std::string& output) {
    terminal_.Write(output);
    return Describe(terminal_, 1000, /*styles=*/true);
  }
  // The style of the first cell of the screen.
  static corral::v1::Style FirstStyle(const corral::v1::Screen& screen) {
    return screen.lines(0).runs(0).style();
  }

  Terminal terminal_{3, 20, 0};
};

TEST_F(TerminalMemoryTest, ClearInTheAlternateScreenKeepsTheScrollback) {
  EXPECT_EQ(Show("1\r\n2\r\n3\r\n4").scrollback_size(), 1);
  Show("\x1b[?1049h\x1b[3;3Halternate");
  terminal_.Clear();
  EXPECT_EQ(Show("\x1b[?1049l").scrollback_size(), 1);
}

TEST_F(TerminalMemoryTest, AFullResetForgetsTheStyleThatWasSaved) {
  EXPECT_FALSE(FirstStyle(Show("\x1b[2;53m\x1b"
                               "7\x1b"
                               "c\x1b"
                               "8x"))
                   .dim());
}

TEST_F(TerminalMemoryTest, ASoftResetEndsEveryAttribute) {
  EXPECT_EQ(Show("\x1b[1;2;3;4;7;8;9;31;44;53m\x1b[!px")
                .lines(0)
                .runs(0)
                .ShortDebugString(),
            "text: \"x\" columns: 1");
}

TEST_F(TerminalMemoryTest, KeepsLinesAgainAfterASequenceThatDropsThem) {
  EXPECT_EQ(Show("\x1b[3;1H\x1b[S").scrollback_size(), 0);
  EXPECT_EQ(Show("\n").scrollback_size(), 1);
}

TEST_F(TerminalMemoryTest, ShowsBoldTextInTheColourThatItNames) {
  EXPECT_EQ(FirstStyle(Show("\x1b[1;31mx")).foreground().index(), 1);
}

TEST_F(TerminalMemoryTest, AnswersNoQuestionForAColourThatItDoesNotKnow) {
  Show("\x1b]12;?\x07\x1b]4;1;?\x07\x1b]104;?\x07");
  EXPECT_EQ(terminal_.answers().From(0), "");
}

}  // namespace
}  // namespace screen
