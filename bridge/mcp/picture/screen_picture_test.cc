#include "bridge/mcp/picture/screen_picture.h"

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "bridge/mcp/picture/glyphs.h"
#include "bridge/mcp/picture/png_file.h"
#include "corral/v1/screen.pb.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using corral::v1::Screen;

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

TEST_F(ScreenPictureTest, WritesThePngFormat) {
  const std::string png = ToPng(Draw());
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png.substr(12, 4), "IHDR");
  EXPECT_EQ(png.substr(png.size() - 8, 4), "IEND");
  EXPECT_EQ(png, ToPng(Draw()));
}

}  // namespace
}  // namespace bridge
