#include "bridge/mcp/terminal/screen_text.h"

#include <string>

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
  EXPECT_EQ(WholeText(blank), "");
}

TEST(ScreenText, FillsLinesWithAnsiSequencesUpToTheWidth) {
  Screen screen = MakeScreen();
  AddRun(&screen, "$ ", 2);
  EXPECT_EQ(AnsiText(screen), "$     \x1b[0m");
}

TEST(ScreenText, WritesEveryAttributeAsASequence) {
  Screen screen = MakeScreen();
  AddRun(&screen, "a", 1);
  corral::v1::Style* style =
      AddRun(&screen, "\xe6\xbc\xa2", 2)->mutable_style();
  style->set_bold(true);
  style->set_dim(true);
  style->set_italic(true);
  style->set_inverse(true);
  style->set_underline(corral::v1::Style::SINGLE);
  style->mutable_foreground()->set_index(9);
  style->mutable_background()->set_rgb(0x010203);
  AddRun(&screen, "b", 1)
      ->mutable_style()
      ->mutable_foreground()
      ->set_index(200);
  EXPECT_EQ(AnsiText(screen),
            "a\x1b[0;1;2;3;7;4;91;48;2;1;2;3m\xe6\xbc\xa2\x1b[0;38;5;200mb"
            "\x1b[0m  \x1b[0m");
}

}  // namespace
}  // namespace bridge
