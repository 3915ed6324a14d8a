#include "bridge/mcp/picture/screen_picture.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/mcp/picture/glyphs.h"
#include "bridge/mcp/picture/png_file.h"
#include "corral/v1/screen.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using corral::v1::Screen;
using ::testing::ElementsAre;

constexpr uint32_t kRed = 0xcd0000;

class ScreenPictureTest : public ::testing::Test {
 protected:
  ScreenPictureTest() : path_(absl::StrCat(::testing::TempDir(), "/font.hex")) {
    // "#" fills its cell; U+6F22 its left column.
    std::ofstream(path_) << "0023:" << std::string(32, 'F')
                         << "\n0020:" << std::string(32, '0') << "\n6F22:";
    std::ofstream font(path_, std::ios::app);
    for (int row = 0; row < 16; ++row) {
      font << "8001";
    }
    font << "\nbroken\n";
    screen_.mutable_size()->set_rows(2);
    screen_.mutable_size()->set_columns(4);
    screen_.add_lines();
    screen_.add_lines();
  }

  corral::v1::Run* AddRun(const std::string& text, uint32_t columns) {
    corral::v1::Run* run = screen_.mutable_lines(0)->add_runs();
    run->set_text(text);
    run->set_columns(columns);
    return run;
  }
  Raster Draw() { return DrawScreen(screen_, Glyphs(path_)); }

  const std::string path_;
  Screen screen_;
};

TEST_F(ScreenPictureTest, HasSixteenPixelsForEachLine) {
  const Raster raster = Draw();
  EXPECT_EQ(raster.width, 32);
  EXPECT_EQ(raster.height, 32);
}

TEST_F(ScreenPictureTest, DrawsCharactersInTheirColours) {
  AddRun(" ", 1);
  corral::v1::Run* run = AddRun("#", 1);
  run->mutable_style()->mutable_foreground()->set_index(1);
  Raster raster = Draw();
  EXPECT_EQ(raster.at(8, 0), kRed);
  EXPECT_NE(raster.at(7, 0), kRed);
  run->mutable_style()->set_inverse(true);
  raster = Draw();
  EXPECT_NE(raster.at(8, 0), kRed);
  run->mutable_style()->set_hidden(true);
  raster = Draw();
  EXPECT_EQ(raster.at(8, 0), kRed);
}

TEST_F(ScreenPictureTest, GivesWideCharactersTwoColumns) {
  AddRun("\xe6\xbc\xa2", 2)->set_wide(true);
  AddRun("#", 1);
  Raster raster = Draw();
  const uint32_t ink = raster.at(0, 0);
  EXPECT_NE(raster.at(1, 0), ink);
  EXPECT_EQ(raster.at(15, 0), ink);
  EXPECT_EQ(raster.at(16, 0), ink);
}

TEST_F(ScreenPictureTest, DrawsTheCursorUnlessItIsHidden) {
  screen_.mutable_cursor()->set_column(4);  // a wrap is pending
  const uint32_t background = Draw().at(24, 0);
  screen_.mutable_cursor()->set_visible(true);
  EXPECT_NE(Draw().at(24, 0), background);
  screen_.mutable_cursor()->set_shape(corral::v1::Cursor::UNDERLINE);
  EXPECT_EQ(Draw().at(24, 0), background);
  EXPECT_NE(Draw().at(24, 15), background);
}

TEST_F(ScreenPictureTest, DrawsABoxForCharactersThatTheFontDoesNotHave) {
  AddRun("x", 1);
  Raster raster = Draw();
  EXPECT_NE(raster.at(1, 3), raster.at(0, 0));
}

TEST_F(ScreenPictureTest, DrawsLinesUnderThroughAndOverText) {
  corral::v1::Style* style = AddRun("  ", 2)->mutable_style();
  const uint32_t background = Draw().at(0, 0);
  const auto drawn_rows = [&] {
    Raster raster = Draw();
    std::vector<int> rows;
    for (int row = 0; row < 16; ++row) {
      EXPECT_EQ(raster.at(0, row), raster.at(15, row));
      EXPECT_EQ(raster.at(16, row), background);
      if (raster.at(0, row) != background) {
        rows.push_back(row);
      }
    }
    return rows;
  };
  EXPECT_THAT(drawn_rows(), ElementsAre());
  style->set_underline(corral::v1::Style::SINGLE);
  EXPECT_THAT(drawn_rows(), ElementsAre(14));
  style->set_strike(true);
  EXPECT_THAT(drawn_rows(), ElementsAre(8, 14));
  style->set_overline(true);
  EXPECT_THAT(drawn_rows(), ElementsAre(0, 8, 14));
}

TEST_F(ScreenPictureTest, DrawsBoldAndItalicText) {
  corral::v1::Run* run = AddRun("\xe6\xbc\xa2", 2);
  run->set_wide(true);
  Raster raster = Draw();
  const uint32_t ink = raster.at(0, 0);
  EXPECT_NE(raster.at(1, 15), ink);
  run->mutable_style()->set_bold(true);
  raster = Draw();
  EXPECT_EQ(raster.at(1, 15), ink);
  EXPECT_NE(raster.at(2, 15), ink);
  run->mutable_style()->set_bold(false);
  run->mutable_style()->set_italic(true);
  raster = Draw();
  EXPECT_EQ(raster.at(2, 0), ink);
  EXPECT_EQ(raster.at(1, 8), ink);
  EXPECT_EQ(raster.at(0, 15), ink);
}

TEST_F(ScreenPictureTest, DrawsCombiningCharactersOverTheOneBefore) {
  const uint32_t background = Draw().at(0, 0);
  for (const char* combining :
       {"\u0300", "\u036f", "\u1ab0", "\u1aff", "\u1dc0", "\u1dff", "\u200b",
        "\u200f", "\u20d0", "\u20ff", "\ufe00", "\ufe0f", "\ufe20", "\ufe2f",
        "\U000e0100", "\U000e01ef"}) {
    screen_.mutable_lines(0)->clear_runs();
    AddRun(absl::StrCat(" ", combining, "#"), 2);
    Raster raster = Draw();
    // The font has no such character, so that a box is drawn.
    EXPECT_NE(raster.at(1, 3), background) << combining;
    EXPECT_NE(raster.at(8, 0), background) << combining;
  }
  for (const char* other :
       {"\u02ff", "\u0370", "\u1aaf", "\u1b00", "\u1dbf", "\u1e00", "\u200a",
        "\u2010", "\u20cf", "\u2100", "\ufdff", "\ufe10", "\ufe1f", "\ufe30",
        "\U000e00ff", "\U000e01f0"}) {
    screen_.mutable_lines(0)->clear_runs();
    AddRun(absl::StrCat(" ", other), 2);
    EXPECT_EQ(Draw().at(1, 3), background) << other;
  }
}

TEST_F(ScreenPictureTest, DrawsACombiningCharacterThatStandsFirstByItself) {
  AddRun("#", 1);
  corral::v1::Run* const run = AddRun("\u0300#", 2);
  run->mutable_style()->mutable_foreground()->set_index(1);
  Raster raster = Draw();
  // Its box, and then the other character.
  EXPECT_NE(raster.at(1, 3), kRed);
  EXPECT_EQ(raster.at(9, 3), kRed);
  EXPECT_NE(raster.at(9, 0), kRed);
  EXPECT_EQ(raster.at(16, 0), kRed);
}

TEST_F(ScreenPictureTest, DrawsNothingBesideTheScreen) {
  const Raster empty = Draw();
  // The pixels right of a row would be those of the next row.
  AddRun("     ", 5)->mutable_style()->mutable_background()->set_index(1);
  Raster raster = Draw();
  EXPECT_EQ(raster.at(31, 15), kRed);
  EXPECT_NE(raster.at(0, 16), kRed);
  screen_.mutable_lines(0)->clear_runs();
  screen_.mutable_cursor()->set_visible(true);
  screen_.mutable_cursor()->set_row(2);
  EXPECT_EQ(Draw().pixels, empty.pixels);
}

TEST_F(ScreenPictureTest, SwapsTheColoursOfTheWholeScreen) {
  const uint32_t background = Draw().at(31, 31);
  screen_.mutable_modes()->set_inverse(true);
  EXPECT_NE(Draw().at(31, 31), background);
}

TEST_F(ScreenPictureTest, DrawsTheCursorAsABar) {
  const uint32_t background = Draw().at(0, 0);
  screen_.mutable_cursor()->set_visible(true);
  screen_.mutable_cursor()->set_row(1);
  screen_.mutable_cursor()->set_column(1);
  screen_.mutable_cursor()->set_shape(corral::v1::Cursor::BAR);
  Raster raster = Draw();
  EXPECT_EQ(raster.at(7, 16), background);
  EXPECT_NE(raster.at(8, 16), background);
  EXPECT_NE(raster.at(9, 31), background);
  EXPECT_EQ(raster.at(10, 16), background);
  EXPECT_EQ(raster.at(8, 15), background);
}

TEST_F(ScreenPictureTest, WritesThePngFormat) {
  const std::string png = ToPng(Draw());
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png.substr(12, 4), "IHDR");
  EXPECT_EQ(png.substr(png.size() - 8, 4), "IEND");
  EXPECT_EQ(png, ToPng(Draw()));
}

}  // namespace
}  // namespace bridge
