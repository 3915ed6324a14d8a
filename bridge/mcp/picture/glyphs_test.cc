#include "bridge/mcp/picture/glyphs.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::string Digits(int count) { return std::string(count, 'F'); }

Glyphs Font(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/font.hex";
  tests::WriteFile(path, text);
  return Glyphs(path);
}

TEST(GlyphsTest, HasOneOrTwoColumnsByItsNumberOfDigits) {
  std::string narrow;
  std::string wide;
  for (int row = 0; row < kGlyphHeight; ++row) {
    narrow += "8F";
    wide += "12A4";
  }
  const Glyphs glyphs =
      Font(absl::StrCat("0041:", narrow, "\n1F600:", wide, "\n"));
  EXPECT_EQ(glyphs.size(), 2);
  EXPECT_FALSE(glyphs.Find(0x41).wide);
  EXPECT_THAT(glyphs.Find(0x41).rows, Each(0x8f00));
  EXPECT_TRUE(glyphs.Find(0x1f600).wide);
  EXPECT_THAT(glyphs.Find(0x1f600).rows, Each(0x12a4));
}

TEST(GlyphsTest, LeavesOutLinesThatAreNoGlyphs) {
  const Glyphs glyphs = Font(absl::StrCat(
      "\n0040\nxyz:", Digits(32), "\n:", Digits(32), "\n0041:", Digits(31),
      "\n0042:", Digits(33), "\n0043:", Digits(62), "\n0044:", Digits(66),
      "\n0045:\n0046:", Digits(32), "\n"));
  EXPECT_EQ(glyphs.size(), 1);
  EXPECT_THAT(glyphs.Find(0x46).rows, Each(0xff00));
}

TEST(GlyphsTest, HasABoxForEveryCharacterThatIsNotThere) {
  const Glyphs glyphs("/nonexistent/font");
  EXPECT_EQ(glyphs.size(), 0);
  EXPECT_FALSE(glyphs.Find('x').wide);
  EXPECT_THAT(
      glyphs.Find('x').rows,
      ElementsAre(0, 0, 0, 0x7e00, 0x4200, 0x4200, 0x4200, 0x4200, 0x4200,
                  0x4200, 0x4200, 0x4200, 0x4200, 0x7e00, 0, 0));
}

}  // namespace
}  // namespace bridge
