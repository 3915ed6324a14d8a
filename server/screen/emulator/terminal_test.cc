#include "server/screen/emulator/terminal.h"

#include <locale.h>
#include <wchar.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corral/v1/screen.pb.h"
#include "gtest/gtest.h"
#include "server/screen/emulator/screen_message.h"

namespace screen {
namespace {

constexpr size_t kAllLines = 1000;

class TerminalTest : public ::testing::Test {
 protected:
  corral::v1::Screen Show(const std::string& output) {
    terminal_.Write(output);
    return Describe(terminal_, kAllLines, /*styles=*/true);
  }
  // The text of a line after `output`.
  std::string LineOf(const std::string& output, int line = 0) {
    return Show(output).lines(line).text();
  }
  // The style of the first cell after `output`.
  corral::v1::Style StyleOf(const std::string& output) {
    return Show("\x1b[H" + output + "x").lines(0).runs(0).style();
  }

  Terminal terminal_{5, 20, 0};
};

std::string Numbers(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) {
    absl::StrAppend(&text, i, "\r\n");
  }
  return text;
}

TEST_F(TerminalTest, KeepsWrittenSpacesAndDropsErasedOnes) {
  EXPECT_EQ(LineOf("abc   "), "abc   ");
  EXPECT_EQ(LineOf("\r\ngone   \x1b[3D\x1b[K", 1), "gone");
  EXPECT_EQ(LineOf("\r\na\x1b[5Cb", 2), "a     b");
}

TEST_F(TerminalTest, GivesEmojiTwoColumnsAsTheCLibraryDoes) {
  const corral::v1::Screen screen =
      Show("\xf0\x9f\x98\x80\xc3\xa9\xe6\xbc\xa2");
  EXPECT_EQ(screen.cursor().column(), 5);
  EXPECT_TRUE(screen.lines(0).runs(0).wide());
  EXPECT_EQ(screen.lines(0).text(), "\xf0\x9f\x98\x80\xc3\xa9\xe6\xbc\xa2");
}

TEST_F(TerminalTest, AgreesWithTheCLibraryOnEveryWidth) {
  Terminal terminal(2, 20, 0);
  for (wchar_t c = 0xa0; c < 0x20000; ++c) {
    const int width = ::wcwidth(c);
    if (width <= 0 || (c >= 0xd800 && c < 0xe000)) {
      continue;
    }
    char utf8[8] = {};
    ASSERT_GT(::wctomb(utf8, c), 0);
    terminal.Write(absl::StrCat("\r", utf8));
    ASSERT_EQ(terminal.cursor().column, width) << std::hex << c;
  }
}

TEST_F(TerminalTest, CombinesCharactersOfWidthZero) {
  EXPECT_EQ(LineOf("e\xcc\x81x"), "e\xcc\x81x");
  EXPECT_EQ(Show("").cursor().column(), 2);
  // A code point that is no character.
  EXPECT_EQ(Show("\r\xcd\xb8x").cursor().column(), 2);
}

TEST_F(TerminalTest, ErasesTheOtherHalfOfAWideCharacter) {
  EXPECT_EQ(LineOf("\xe6\xbc\xa2"
                   "a\x1b[1;2Hb"),
            " ba");
  EXPECT_EQ(LineOf("\x1b[2K\r\xe6\xbc\xa2"
                   "a\x1b[1;1Hc"),
            "c a");
}

TEST_F(TerminalTest, KeepsEveryAttribute) {
  EXPECT_TRUE(StyleOf("\x1b[0;1m").bold());
  EXPECT_TRUE(StyleOf("\x1b[0;2m").dim());
  EXPECT_TRUE(StyleOf("\x1b[0;3m").italic());
  EXPECT_EQ(StyleOf("\x1b[0;4m").underline(), corral::v1::Style::SINGLE);
  EXPECT_EQ(StyleOf("\x1b[0;4:3m").underline(), corral::v1::Style::CURLY);
  EXPECT_TRUE(StyleOf("\x1b[0;5m").blink());
  EXPECT_TRUE(StyleOf("\x1b[0;7m").inverse());
  EXPECT_TRUE(StyleOf("\x1b[0;8m").hidden());
  EXPECT_TRUE(StyleOf("\x1b[0;9m").strike());
  EXPECT_TRUE(StyleOf("\x1b[0;53m").overline());
  const corral::v1::Style both = StyleOf("\x1b[0;1;2m");
  EXPECT_TRUE(both.bold() && both.dim());
  const corral::v1::Style none = StyleOf("\x1b[22m");
  EXPECT_FALSE(none.bold() || none.dim());
}

TEST_F(TerminalTest, EndsEachAttributeAlone) {
  const corral::v1::Style style = StyleOf("\x1b[0;1;8;53m\x1b[28;55m");
  EXPECT_FALSE(style.hidden());
  EXPECT_FALSE(style.overline());
  EXPECT_TRUE(style.bold());
  EXPECT_TRUE(StyleOf("\x1b[0;8;53;55m").hidden());
  EXPECT_TRUE(StyleOf("\x1b[0;8;53;28m").overline());
}

TEST_F(TerminalTest, KeepsColoursInEveryForm) {
  EXPECT_EQ(StyleOf("\x1b[0;31m").foreground().index(), 1);
  EXPECT_EQ(StyleOf("\x1b[0;104m").background().index(), 12);
  EXPECT_EQ(StyleOf("\x1b[0;38;5;200m").foreground().index(), 200);
  EXPECT_EQ(StyleOf("\x1b[0;38;2;1;2;3m").foreground().rgb(), 0x010203);
  EXPECT_EQ(StyleOf("\x1b[0;48:2:1:2:3m").background().rgb(), 0x010203);
  EXPECT_EQ(StyleOf("\x1b[0;48:2::1:2:3m").background().rgb(), 0x010203);
  const corral::v1::Style underlined = StyleOf("\x1b[0;4;58;5;1m");
  EXPECT_FALSE(underlined.bold() || underlined.blink());
}

TEST_F(TerminalTest, RestoresAttributesWithTheCursor) {
  EXPECT_TRUE(
      Show("\x1b[2m\x1b[s\x1b[0m\x1b[uy").lines(0).runs(0).style().dim());
}

TEST_F(TerminalTest, ShowsTheBackgroundOfErasedCells) {
  const corral::v1::Screen screen = Show("a\x1b[44m\x1b[K");
  EXPECT_EQ(screen.lines(0).text(), "a");
  EXPECT_EQ(screen.lines(0).runs(1).columns(), 19);
  EXPECT_EQ(screen.lines(0).runs(1).style().background().index(), 4);
}

TEST_F(TerminalTest, KeepsLinesThatScrollOffTheTop) {
  const corral::v1::Screen screen = Show(Numbers(1, 8));
  ASSERT_EQ(screen.scrollback_size(), 4);
  EXPECT_EQ(screen.scrollback(0).text(), "1");
  EXPECT_EQ(screen.lines(0).text(), "5");
  EXPECT_EQ(Show("\x1b[3J").scrollback_size(), 0);
}

TEST_F(TerminalTest, KeepsTheLastThousandLinesOfScrollback) {
  const corral::v1::Screen screen = Show(Numbers(1, 1104));
  ASSERT_EQ(screen.scrollback_size(), 1000);
  EXPECT_EQ(screen.scrollback(0).text(), "101");
}

TEST_F(TerminalTest, AddsNoDeletedLinesToTheScrollback) {
  EXPECT_EQ(Show("a\x1b[H\x1b[M\x1b[2S").scrollback_size(), 0);
}

TEST_F(TerminalTest, ShowsTheAlternateScreenWithoutScrollback) {
  Show(Numbers(1, 8));
  const corral::v1::Screen alternate = Show("\x1b[?1049h\x1b[Hedit");
  EXPECT_TRUE(alternate.alternate());
  EXPECT_EQ(alternate.scrollback_size(), 0);
  EXPECT_EQ(alternate.lines(0).text(), "edit");
  const corral::v1::Screen after = Show("\x1b[?1049l");
  EXPECT_EQ(after.lines(0).text(), "5");
  EXPECT_EQ(after.scrollback_size(), 4);
}

TEST_F(TerminalTest, ClearKeepsTheLineOfTheCursorAndItsColumn) {
  Show(Numbers(1, 8) + "$ echo");
  terminal_.Clear();
  const corral::v1::Screen screen = Show("");
  EXPECT_EQ(screen.lines(0).text(), "$ echo");
  EXPECT_EQ(screen.lines(4).text(), "");
  EXPECT_EQ(screen.scrollback_size(), 0);
  EXPECT_EQ(screen.cursor().row(), 0);
  EXPECT_EQ(screen.cursor().column(), 6);
  EXPECT_EQ(LineOf("\r\nnext", 1), "next");
}

TEST_F(TerminalTest, ClearInTheAlternateScreenKeepsTheMainOne) {
  Show("main\r\n\x1b[?1049h\x1b[3;3Halt");
  terminal_.Clear();
  EXPECT_EQ(LineOf(""), "  alt");
  EXPECT_EQ(LineOf("\x1b[?1049l"), "main");
}

TEST_F(TerminalTest, ClearErasesProtectedCharactersToo) {
  Show("\x1b[1\"qa\r\nb\r\nc\x1b[2;1H");
  terminal_.Clear();
  EXPECT_EQ(LineOf(""), "b");
  EXPECT_EQ(LineOf("", 1), "");
}

TEST_F(TerminalTest, AnswersQuestions) {
  Show("ab\x1b[6n");
  EXPECT_EQ(terminal_.answers().From(0), "\x1b[1;3R");
  const uint64_t seen = terminal_.offset();
  Show("\x1b[5n\x1b[18t\x1b]11;?\x07");
  EXPECT_EQ(terminal_.answers().From(seen),
            "\x1b[0n\x1b[8;5;20t\x1b]11;rgb:0000/0000/0000\x1b\\");
  Show("\x1b[c");
  EXPECT_NE(terminal_.answers().From(0).find("\x1b[?"), std::string::npos);
}

TEST_F(TerminalTest, ReportsChecksumsOfItsCells) {
  Show("ab\x1b[7;1;1;1;1;2*y");
  EXPECT_EQ(terminal_.answers().From(0), "\x1bP7!~FF3D\x1b\\");
  const uint64_t seen = terminal_.offset();
  // An empty cell, and a rectangle outside the screen.
  Show("\x1b[8;1;5;20;5;20*y\x1b[9;1;90;90;99;99*y");
  EXPECT_EQ(terminal_.answers().From(seen),
            "\x1bP8!~FFE0\x1b\\\x1bP9!~0000\x1b\\");
}

TEST_F(TerminalTest, ReportsModesAndTheTitle) {
  const corral::v1::Screen screen = Show(
      "\x1b]0;t\xff\x01itle\x07\x1b[?1h\x1b=\x1b[?2004h\x1b[?25l\x1b[?"
      "1002h\x1b[4 q");
  EXPECT_EQ(screen.title(), "title");
  EXPECT_TRUE(screen.modes().application_cursor_keys());
  EXPECT_TRUE(screen.modes().application_keypad());
  EXPECT_TRUE(screen.modes().bracketed_paste());
  EXPECT_FALSE(screen.cursor().visible());
  EXPECT_EQ(screen.cursor().shape(), corral::v1::Cursor::UNDERLINE);
  EXPECT_EQ(screen.modes().mouse(), corral::v1::Modes::DRAGS);
}

TEST_F(TerminalTest, HasNoMarginsAfterASoftReset) {
  const corral::v1::Screen screen =
      Show("\x1b[2;3r\x1b[?69h\x1b[3;5s\x1b[?6h\x1b[!p\x1b[1;1Hx\x1b[5;20Hy");
  EXPECT_EQ(screen.lines(0).text(), "x");
  EXPECT_EQ(screen.lines(4).text(), std::string(19, ' ') + "y");
  EXPECT_EQ(Show("\x1b[3;4H\x1b[!p").cursor().column(), 3);
}

TEST_F(TerminalTest, IsBlankAfterAFullReset) {
  const corral::v1::Screen screen = Show(Numbers(1, 8) +
                                         "\x1b[2;7m\x1b"
                                         "cx");
  EXPECT_EQ(screen.lines(0).text(), "x");
  EXPECT_EQ(screen.scrollback_size(), 0);
  EXPECT_FALSE(screen.lines(0).runs(0).has_style());
}

TEST_F(TerminalTest, ShowsNoControlCharacters) {
  for (const char c : LineOf("a\xc2\x9b"
                             "31mb\x7f")) {
    EXPECT_NE(c, '\x9b');
    EXPECT_NE(c, '\x7f');
  }
}

TEST_F(TerminalTest, ShowsNothingOfPrivateStrings) {
  EXPECT_EQ(LineOf("a\x1b_b\x1b\\\x1b^c\x1b\\d"), "ad");
}

TEST_F(TerminalTest, SwitchesEveryModeOnAndOff) {
  corral::v1::Modes modes = Show("\x1b[?1;66;2004;5h\x1b[?1003h").modes();
  EXPECT_TRUE(modes.application_cursor_keys());
  EXPECT_TRUE(modes.application_keypad());
  EXPECT_TRUE(modes.bracketed_paste());
  EXPECT_TRUE(modes.inverse());
  EXPECT_EQ(modes.mouse(), corral::v1::Modes::ALL_MOVES);
  modes = Show("\x1b[?1;66;2004;5l\x1b[?1003l\x1b[?1000h").modes();
  EXPECT_FALSE(modes.application_cursor_keys());
  EXPECT_FALSE(modes.application_keypad());
  EXPECT_FALSE(modes.bracketed_paste());
  EXPECT_FALSE(modes.inverse());
  EXPECT_EQ(modes.mouse(), corral::v1::Modes::CLICKS);
  EXPECT_TRUE(Show("\x1b=").modes().application_keypad());
  EXPECT_FALSE(Show("\x1b>").modes().application_keypad());
  EXPECT_EQ(Show("\x1b[6 q").cursor().shape(), corral::v1::Cursor::BAR);
  EXPECT_EQ(Show("\x1b[2 q").cursor().shape(), corral::v1::Cursor::BLOCK);
  EXPECT_TRUE(Show("").cursor().visible());
}

TEST_F(TerminalTest, ASoftResetEndsModesAndAttributes) {
  const corral::v1::Screen screen =
      Show("\x1b[?1h\x1b=\x1b[?25l\x1b[2m\x1b[!px");
  EXPECT_FALSE(screen.modes().application_cursor_keys());
  EXPECT_FALSE(screen.modes().application_keypad());
  EXPECT_TRUE(screen.cursor().visible());
  EXPECT_FALSE(screen.lines(0).runs(0).style().dim());
}

TEST_F(TerminalTest, AFullResetEndsModesAndTheAlternateScreen) {
  const corral::v1::Screen screen =
      Show("\x1b[?1049h\x1b[Halt\x1b]2;title\x07\x1b[?1h\x1b[?2004h" +
           std::string(20, 'x') +
           "\x1b"
           "c");
  EXPECT_FALSE(screen.alternate());
  EXPECT_EQ(screen.title(), "");
  EXPECT_FALSE(screen.modes().application_cursor_keys());
  EXPECT_FALSE(screen.modes().bracketed_paste());
  EXPECT_EQ(screen.cursor().column(), 0);
  EXPECT_EQ(LineOf("\x1b[?47h"), "");
}

TEST_F(TerminalTest, RestoresAttributesWithEachWayToRestoreTheCursor) {
  for (const auto& [save, restore] :
       std::vector<std::pair<std::string, std::string>>{
           {"\x1b"
            "7",
            "\x1b"
            "8"},
           {"\x1b[?1048h", "\x1b[?1048l"},
           {"\x1b[?1049h", "\x1b[?1049l"}}) {
    EXPECT_TRUE(Show("\x1b[H\x1b[0;2m" + save + "\x1b[0m" + restore + "y")
                    .lines(0)
                    .runs(0)
                    .style()
                    .dim())
        << restore;
  }
}

TEST_F(TerminalTest, AnOldSequenceShowsTheAlternateScreenToo) {
  Show("main");
  EXPECT_TRUE(Show("\x1b[?47h").alternate());
  EXPECT_EQ(LineOf("\x1b[?47l"), "main");
}

TEST_F(TerminalTest, AnswersWhatProgramsAskAtTheirStart) {
  Show("\x1b[19t\x1b[20t");
  EXPECT_EQ(terminal_.answers().From(0), "\x1b[9;5;20t");
  uint64_t seen = terminal_.offset();
  Show("\x1b[>q\x1b[=c\x1b]10;?\x07\x1bP+q544e\x1b\\");
  EXPECT_EQ(terminal_.answers().From(seen),
            "\x1bP>|Corral\x1b\\\x1bP!|00000000\x1b\\\x1b]10;rgb:ffff/ffff/"
            "ffff\x1b\\\x1bP0+r\x1b\\");
  seen = terminal_.offset();
  Show("\x1bP$qm\x1b\\");
  EXPECT_EQ(terminal_.answers().From(seen), "\x1bP1$rm\x1b\\");
  seen = terminal_.offset();
  EXPECT_EQ(LineOf("\x1b[?u\x1b[>1u\x1b[<u\x1b[=1u\x1b]10;red\x07x"), "x");
  EXPECT_EQ(terminal_.answers().From(seen), "");
}

TEST_F(TerminalTest, ClearDoesNothingAtTheTopOfAScreenWithoutScrollback) {
  Show("a\r\nb\x1b[H");
  terminal_.Clear();
  EXPECT_EQ(LineOf("", 1), "b");
  Show("\x1b[?1049h\x1b[2Jx\r\ny\x1b[H");
  terminal_.Clear();
  EXPECT_EQ(LineOf("", 1), "y");
}

TEST_F(TerminalTest, SwitchesEveryModeThatASequenceNames) {
  Show("\x1b[?25l");
  EXPECT_TRUE(Show("\x1b[?12;25h").cursor().visible());
  const corral::v1::Screen screen = Show("\x1b[?1006;1002;1049h\x1b[?1;25l");
  EXPECT_EQ(screen.modes().mouse(), corral::v1::Modes::DRAGS);
  EXPECT_TRUE(screen.alternate());
  EXPECT_FALSE(screen.cursor().visible());
  EXPECT_EQ(Show("\x1b[?1000;1003h").modes().mouse(),
            corral::v1::Modes::ALL_MOVES);
}

TEST_F(TerminalTest, KeepsOnlyLinesThatLeaveTheWholeScreen) {
  // The alternate screen, a region below the top, and some columns.
  EXPECT_EQ(
      Show("\x1b[?1049h" + Numbers(1, 8) + "\x1b[?1049l").scrollback_size(), 0);
  EXPECT_EQ(Show("\x1b[2;3r\x1b[3;1H\n\n\n\x1b[r").scrollback_size(), 0);
  EXPECT_EQ(Show("\x1b[?69h\x1b[3;5s\x1b[5;3H\n\n\x1b[?69l").scrollback_size(),
            0);
  // To save the cursor does not reset the margins.
  EXPECT_EQ(
      Show("\x1b[?69h\x1b[3;5s\x1b[s\x1b[5;3H\n\x1b[?69l").scrollback_size(),
      0);
  EXPECT_EQ(Show("\x1b[5;1H\n").scrollback_size(), 1);
}

TEST_F(TerminalTest, ErasesNoProtectedCharactersSelectively) {
  EXPECT_EQ(LineOf("\x1b[1\"qa\x1b[0\"qb\x1b[?2K"), "a");
  EXPECT_EQ(LineOf("\x1b[2K"), "");
}

}  // namespace
}  // namespace screen

int main(int argc, char** argv) {
  ::setlocale(LC_CTYPE, "C.UTF-8");
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
