#include "bridge/mcp/terminal/screen_redraw.h"

#include <string>

#include "corral/v1/screen.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

corral::v1::Screen MakeScreen() {
  corral::v1::Screen screen;
  screen.mutable_size()->set_rows(2);
  screen.mutable_size()->set_columns(4);
  screen.mutable_cursor()->set_visible(true);
  corral::v1::Run* const run = screen.add_lines()->add_runs();
  run->set_text("ab");
  run->set_columns(2);
  run->mutable_style()->set_bold(true);
  screen.add_lines();
  return screen;
}

TEST(ScreenRedraw, DrawsLinesAndPlacesTheCursor) {
  corral::v1::Screen screen = MakeScreen();
  screen.mutable_cursor()->set_row(1);
  screen.mutable_cursor()->set_column(3);
  EXPECT_EQ(Redraw(screen),
            "\x1b[0m\x1b[H\x1b[2J\x1b[1;1H\x1b[0;1mab\x1b[0m\x1b[2;4H");
}

TEST(ScreenRedraw, SetsTitleAndModes) {
  corral::v1::Screen screen = MakeScreen();
  screen.set_title("t");
  screen.set_alternate(true);
  screen.mutable_cursor()->set_visible(false);
  screen.mutable_cursor()->set_shape(corral::v1::Cursor::BAR);
  screen.mutable_modes()->set_application_cursor_keys(true);
  screen.mutable_modes()->set_application_keypad(true);
  screen.mutable_modes()->set_bracketed_paste(true);
  screen.mutable_modes()->set_inverse(true);
  screen.mutable_modes()->set_mouse(corral::v1::Modes::DRAGS);
  const std::string output = Redraw(screen);
  EXPECT_THAT(output, StartsWith("\x1b[?1049h\x1b]2;t\x07"));
  for (const char* const mode : {"\x1b[?1h", "\x1b=", "\x1b[?2004h", "\x1b[?5h",
                                 "\x1b[?1002h", "\x1b[6 q", "\x1b[?25l"}) {
    EXPECT_THAT(output, HasSubstr(mode));
    EXPECT_THAT(Redraw(MakeScreen()), Not(HasSubstr(mode)));
  }
}

TEST(ScreenRedraw, KnowsEveryModeOfTheMouse) {
  corral::v1::Screen screen = MakeScreen();
  screen.mutable_modes()->set_mouse(corral::v1::Modes::CLICKS);
  EXPECT_THAT(Redraw(screen), HasSubstr("\x1b[?1000h"));
  screen.mutable_modes()->set_mouse(corral::v1::Modes::ALL_MOVES);
  EXPECT_THAT(Redraw(screen), HasSubstr("\x1b[?1003h"));
}

TEST(ScreenRedraw, UnderlinesTheCursor) {
  corral::v1::Screen screen = MakeScreen();
  screen.mutable_cursor()->set_shape(corral::v1::Cursor::UNDERLINE);
  EXPECT_THAT(Redraw(screen), HasSubstr("\x1b[4 q"));
}

TEST(ScreenRedraw, PlacesNoCursorBehindTheLastLine) {
  corral::v1::Screen screen = MakeScreen();
  screen.mutable_cursor()->set_row(2);
  screen.mutable_cursor()->set_column(4);
  EXPECT_THAT(Redraw(screen), EndsWith("\x1b[1;1H\x1b[0;1mab\x1b[0m"));
}

TEST(ScreenRedraw, LeavesAPendingWrapPending) {
  corral::v1::Screen screen = MakeScreen();
  screen.mutable_lines(0)->mutable_runs(0)->set_text("abcd");
  screen.mutable_lines(0)->mutable_runs(0)->set_columns(4);
  screen.mutable_cursor()->set_column(4);
  EXPECT_THAT(Redraw(screen), EndsWith("\x1b[1;1H\x1b[0;1mabcd\x1b[0m"));
}

}  // namespace
}  // namespace bridge
