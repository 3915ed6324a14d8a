#include "bridge/mcp/terminal/screen_text.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corral/v1/screen.pb.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using corral::v1::Run;
using corral::v1::Screen;

Screen MakeScreen() {
  Screen screen;
  screen.mutable_size()->set_rows(3);
  screen.mutable_size()->set_columns(6);
  screen.add_scrollback()->set_text("old");
  screen.add_lines()->set_text("$ ");
  screen.add_lines()->set_text("  ");
  screen.add_lines();
  return screen;
}

// Adds a run to the first line, and returns it.
Run* AddRun(Screen* screen, const std::string& text, uint32_t columns) {
  Run* run = screen->mutable_lines(0)->add_runs();
  run->set_text(text);
  run->set_columns(columns);
  return run;
}

TEST(ScreenText, KeepsEveryVisibleLine) {
  EXPECT_EQ(VisibleText(MakeScreen()), "$ \n  \n");
}

TEST(ScreenText, DropsBlankLinesAtTheEndOfTheWholeText) {
  EXPECT_EQ(WholeText(MakeScreen()), "old\n$ ");
  Screen blank;
  blank.add_lines()->set_text("\xc2\xa0 ");
  blank.add_lines()->set_text("\xe3\x80\x80\t");
  EXPECT_EQ(WholeText(blank), "");
}

TEST(ScreenText, FillsLinesWithAnsiSequencesUpToTheWidth) {
  Screen screen = MakeScreen();
  AddRun(&screen, "$ ", 2);
  EXPECT_EQ(AnsiText(screen), "$     \x1b[0m");
}

TEST(ScreenText, FillsNoLineThatIsFull) {
  Screen screen = MakeScreen();
  AddRun(&screen, "abc", 3)->mutable_style()->set_bold(true);
  AddRun(&screen, "def", 3)->mutable_style()->set_bold(true);
  EXPECT_EQ(AnsiText(screen), "\x1b[0;1mabcdef\x1b[0m");
}

TEST(ScreenText, KeepsALineAtTheEndThatHasOnlyABackground) {
  Screen screen;
  screen.mutable_size()->set_columns(2);
  screen.add_lines();
  corral::v1::Run* const run = screen.add_lines()->add_runs();
  run->set_text("  ");
  run->set_columns(2);
  run->mutable_style()->mutable_background()->set_index(1);
  screen.add_lines();
  EXPECT_EQ(AnsiText(screen), "  \x1b[0m\n\x1b[0;41m  \x1b[0m");
}

TEST(ScreenText, NumbersColoursAsTerminalsDo) {
  const std::pair<uint32_t, const char*> colours[] = {{0, "30;40"},
                                                      {7, "37;47"},
                                                      {8, "90;100"},
                                                      {15, "97;107"},
                                                      {16, "38;5;16;48;5;16"}};
  for (const auto& [index, codes] : colours) {
    corral::v1::Line line;
    corral::v1::Style* const style = line.add_runs()->mutable_style();
    style->mutable_foreground()->set_index(index);
    style->mutable_background()->set_index(index);
    EXPECT_EQ(StyledLine(line), absl::StrCat("\x1b[0;", codes, "m\x1b[0m"));
  }
}

TEST(ScreenText, KnowsThreeWaysToUnderline) {
  const std::pair<corral::v1::Style::Underline, const char*> ways[] = {
      {corral::v1::Style::SINGLE, "4"},
      {corral::v1::Style::DOUBLE, "21"},
      {corral::v1::Style::CURLY, "4:3"}};
  for (const auto& [way, code] : ways) {
    corral::v1::Line line;
    line.add_runs()->mutable_style()->set_underline(way);
    EXPECT_EQ(StyledLine(line), absl::StrCat("\x1b[0;", code, "m\x1b[0m"));
  }
}

TEST(ScreenText, WritesEveryAttributeAsASequence) {
  Screen screen = MakeScreen();
  AddRun(&screen, "a", 1);
  corral::v1::Style* style =
      AddRun(&screen, "\xe6\xbc\xa2", 2)->mutable_style();
  style->set_bold(true);
  style->set_dim(true);
  style->set_italic(true);
  style->set_blink(true);
  style->set_inverse(true);
  style->set_hidden(true);
  style->set_strike(true);
  style->set_overline(true);
  style->set_underline(corral::v1::Style::SINGLE);
  style->mutable_foreground()->set_index(9);
  style->mutable_background()->set_rgb(0x010203);
  AddRun(&screen, "b", 1)
      ->mutable_style()
      ->mutable_foreground()
      ->set_index(200);
  EXPECT_EQ(
      AnsiText(screen),
      "a\x1b[0;1;2;3;5;7;8;9;53;4;91;48;2;1;2;3m\xe6\xbc\xa2\x1b[0;38;5;200mb"
      "\x1b[0m  \x1b[0m");
}

}  // namespace
}  // namespace bridge
