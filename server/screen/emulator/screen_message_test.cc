#include "server/screen/emulator/screen_message.h"

#include <locale.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corral/v1/screen.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/screen/emulator/terminal.h"

namespace screen {
namespace {

using ::testing::ElementsAre;

class ScreenMessageTest : public ::testing::Test {
 protected:
  // The width of a character depends on it.
  ScreenMessageTest() { ::setlocale(LC_CTYPE, "C.UTF-8"); }

  std::string TitleAfter(const std::string& output) {
    terminal_.Write(output);
    return Describe(terminal_, 0, /*styles=*/false).title();
  }

  Terminal terminal_{5, 20, 0};
};

TEST_F(ScreenMessageTest, HasNoStylesUnlessTheyAreWanted) {
  terminal_.Write("1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n\x1b[1mx");
  const corral::v1::Screen screen = Describe(terminal_, 2, /*styles=*/false);
  EXPECT_EQ(screen.size().rows(), 5);
  EXPECT_EQ(screen.size().columns(), 20);
  EXPECT_EQ(screen.lines(4).runs_size(), 0);
  EXPECT_EQ(screen.lines(4).text(), "x");
  ASSERT_EQ(screen.scrollback_size(), 2);
  EXPECT_EQ(screen.scrollback(0).text(), "3");
  EXPECT_EQ(screen.end_offset(), terminal_.offset());
}

TEST_F(ScreenMessageTest, ShowsOnlyValidCharactersOfATitle) {
  EXPECT_EQ(
      TitleAfter("\x1b]0;\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80\xc0\x80\xe0\x80"
                 "\x80\xf0\x80\x80\x80\xe6\xbcz\x80\xc2\x85\x07"),
      "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80z\xef\xbf\xbd");
}

TEST_F(ScreenMessageTest, ShowsTheFirstCharacterOfEachLengthInATitle) {
  // After each, the last character that is shorter and is encoded as long.
  EXPECT_EQ(TitleAfter("\x1b]0; \xe0\xa0\x80\xe0\x9f\xbf\xf0\x90\x80\x80"
                       "\xf0\x8f\xbf\xbf~\x07"),
            " \xe0\xa0\x80\xf0\x90\x80\x80~");
}

TEST_F(ScreenMessageTest, CutsATitleThatIsTooLong) {
  EXPECT_EQ(TitleAfter("\x1b]2;" + std::string(5000, 't') + "\x07").size(),
            4096);
  EXPECT_EQ(TitleAfter("\x1b]0\x07"), "");
  EXPECT_EQ(TitleAfter("\x1b]0;t\x07\x1b]1;icon\x07"), "t");
}

TEST_F(ScreenMessageTest, ReplacesWhatIsNoCharacterInATitle) {
  // The last and the first character around each gap.
  EXPECT_EQ(TitleAfter("\x1b]0;\xc2\x80\xc2\x9f\xc2\xa0\xdf\xbf\xed\x9f\xbf"
                       "\xed\xa0\x80\xed\xbf\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"
                       "\xf4\x90\x80\x80\x07"),
            "\xef\xbf\xbd\xef\xbf\xbd\xc2\xa0\xdf\xbf\xed\x9f\xbf\xef\xbf\xbd"
            "\xef\xbf\xbd\xee\x80\x80\xf4\x8f\xbf\xbf\xef\xbf\xbd");
}

TEST_F(ScreenMessageTest, CutsALineWhereStyleOrWidthChange) {
  terminal_.Write(
      "ab\x1b[1mc\xe6\xbc\xa2\xe6\xbc\xa2\x1b[md\x1b[1;1He\xcc\x81");
  const corral::v1::Screen screen = Describe(terminal_, 0, /*styles=*/true);
  std::vector<std::string> runs;
  for (const corral::v1::Run& run : screen.lines(0).runs()) {
    runs.push_back(absl::StrCat(run.text(), " ", run.columns(),
                                run.wide() ? " wide" : "",
                                run.has_style() ? " bold" : ""));
  }
  EXPECT_THAT(runs, ElementsAre("e\xcc\x81"
                                "b 2",
                                "c 1 bold",
                                "\xe6\xbc\xa2\xe6\xbc\xa2 4 wide bold", "d 1"));
  EXPECT_EQ(screen.lines(0).text(),
            "e\xcc\x81"
            "bc\xe6\xbc\xa2\xe6\xbc\xa2"
            "d");
}

}  // namespace
}  // namespace screen
