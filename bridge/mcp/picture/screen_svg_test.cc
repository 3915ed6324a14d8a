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
  AddRun("<&>\x01\xef\xbf\xbf", 5);
  EXPECT_TRUE(Shows(">&lt;&amp;&gt; \xef\xbf\xbd</text>"));
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
}

}  // namespace
}  // namespace bridge
