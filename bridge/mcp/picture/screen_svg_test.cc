#include "bridge/mcp/picture/screen_svg.h"

#include <string>

#include "absl/strings/match.h"
#include "corral/v1/screen.pb.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

class ScreenSvgTest : public ::testing::Test {
 protected:
  ScreenSvgTest() {
    screen_.mutable_size()->set_rows(2);
    screen_.mutable_size()->set_columns(10);
    screen_.add_lines();
    screen_.add_lines();
  }
  corral::v1::Style* AddRun(const std::string& text, uint32_t columns) {
    corral::v1::Run* run = screen_.mutable_lines(1)->add_runs();
    run->set_text(text);
    run->set_columns(columns);
    return run->mutable_style();
  }
  bool Shows(const std::string& part) {
    return absl::StrContains(ToSvg(screen_), part);
  }

  corral::v1::Screen screen_;
};

TEST_F(ScreenSvgTest, KeepsTextAsTextAtItsColumns) {
  AddRun("a b", 3);
  AddRun("\xe6\xbc\xa2", 2);
  EXPECT_TRUE(
      Shows("<text x=\"0\" y=\"32\" textLength=\"27\" "
            "fill=\"#d0d0d0\">a b</text>"));
  EXPECT_TRUE(
      Shows("<text x=\"27\" y=\"32\" textLength=\"18\" "
            "fill=\"#d0d0d0\">\xe6\xbc\xa2</text>"));
}

TEST_F(ScreenSvgTest, EscapesWhatXmlDoesNotAllow) {
  AddRun("<&>\x01\xef\xbf\xbf\xef\xbf\xbe!", 7);
  EXPECT_TRUE(Shows(">&lt;&amp;&gt; \xef\xbf\xbd\xef\xbf\xbd!</text>"));
}

TEST_F(ScreenSvgTest, HasTheSizeAndTheColourOfTheScreen) {
  EXPECT_TRUE(Shows("width=\"90\" height=\"36\" viewBox=\"0 0 90 36\""));
  const std::string paper =
      "<rect x=\"0\" y=\"0\" width=\"90\" height=\"36\" fill=";
  EXPECT_TRUE(Shows(paper + "\"#101010\""));
  screen_.mutable_modes()->set_inverse(true);
  EXPECT_TRUE(Shows(paper + "\"#d0d0d0\""));
  AddRun("x", 1);
  EXPECT_TRUE(Shows("fill=\"#101010\">x</text>"));
}

TEST_F(ScreenSvgTest, DrawsNoRunThatShowsNothing) {
  const std::string empty = ToSvg(screen_);
  corral::v1::Style* style = AddRun("  ", 2);
  style->set_bold(true);
  EXPECT_EQ(ToSvg(screen_), empty);
  style->set_overline(true);
  EXPECT_TRUE(Shows(" text-decoration=\"overline\">  </text>"));
}

TEST_F(ScreenSvgTest, ShowsColoursAndAttributes) {
  corral::v1::Style* style = AddRun("x", 1);
  style->mutable_foreground()->set_rgb(0x123456);
  style->mutable_background()->set_index(1);
  style->set_bold(true);
  style->set_italic(true);
  style->set_underline(corral::v1::Style::SINGLE);
  style->set_strike(true);
  EXPECT_TRUE(
      Shows("fill=\"#123456\" font-weight=\"bold\" "
            "font-style=\"italic\" text-decoration=\"underline "
            "line-through\">x</text>"));
  EXPECT_TRUE(Shows("width=\"9\" height=\"18\" fill=\"#cd0000\"/>"));
  style->set_inverse(true);
  EXPECT_TRUE(Shows("width=\"9\" height=\"18\" fill=\"#123456\"/>"));
}

TEST_F(ScreenSvgTest, ShowsTheCursorUnlessItIsHidden) {
  EXPECT_FALSE(Shows("opacity"));
  screen_.mutable_cursor()->set_visible(true);
  screen_.mutable_cursor()->set_row(1);
  screen_.mutable_cursor()->set_column(10);  // a wrap is pending
  EXPECT_TRUE(Shows("<rect x=\"81\" y=\"18\" width=\"9\" height=\"18\""));
  screen_.mutable_cursor()->set_shape(corral::v1::Cursor::BAR);
  EXPECT_TRUE(Shows("<rect x=\"81\" y=\"18\" width=\"2\" height=\"18\""));
  screen_.mutable_cursor()->set_shape(corral::v1::Cursor::UNDERLINE);
  EXPECT_TRUE(Shows("<rect x=\"81\" y=\"34\" width=\"9\" height=\"2\""));
}

TEST_F(ScreenSvgTest, ShowsNoCursorOnAScreenWithoutColumns) {
  corral::v1::Screen screen;
  const std::string without = ToSvg(screen);
  screen.mutable_cursor()->set_visible(true);
  EXPECT_EQ(ToSvg(screen), without);
}

}  // namespace
}  // namespace bridge
