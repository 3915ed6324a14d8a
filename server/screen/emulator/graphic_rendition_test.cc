#include "server/screen/emulator/graphic_rendition.h"

#include <string>

#include "gtest/gtest.h"

namespace screen {
namespace {

TEST(GraphicRendition, LeavesNothingOfItsOwnAttributes) {
  ExtraStyle extra;
  EXPECT_EQ(ApplyGraphicRendition("2;8;53", &extra), "");
  EXPECT_TRUE(extra.dim && extra.hidden && extra.overline);
  EXPECT_EQ(ApplyGraphicRendition("28;55", &extra), "");
  EXPECT_FALSE(extra.hidden || extra.overline);
  EXPECT_EQ(ApplyGraphicRendition("58;5;1;59;58:2::1:2:3", &extra), "");
}

TEST(GraphicRendition, LeavesWhatConcernsOtherAttributesToo) {
  ExtraStyle extra;
  EXPECT_EQ(ApplyGraphicRendition("2;1;38;5;2;53", &extra), "\x1b[1;38;5;2m");
  EXPECT_EQ(ApplyGraphicRendition("22", &extra), "\x1b[22m");
  EXPECT_FALSE(extra.dim);
  EXPECT_EQ(ApplyGraphicRendition("0", &extra), "\x1b[0m");
  EXPECT_FALSE(extra.overline);
  EXPECT_EQ(ApplyGraphicRendition("7", &extra), "\x1b[7m");
}

TEST(GraphicRendition, WritesColoursInTheFormThatLibvtermKnows) {
  ExtraStyle extra;
  for (const char* color :
       {"38;2;1;2;3", "38:2:1:2:3", "38:2::1:2:3", "38:2:9:1:2:3:0:1"}) {
    EXPECT_EQ(ApplyGraphicRendition(color, &extra), "\x1b[38;2;1;2;3m")
        << color;
  }
  EXPECT_EQ(ApplyGraphicRendition("48:5:200", &extra), "\x1b[48;5;200m");
  EXPECT_EQ(ApplyGraphicRendition("48:2:x:2:3", &extra), "\x1b[48;2;0;2;3m");
}

TEST(GraphicRendition, ReadsNoMoreThanTheParametersOfAColour) {
  ExtraStyle extra;
  EXPECT_EQ(ApplyGraphicRendition("38;2;8;53;2;53", &extra),
            "\x1b[38;2;8;53;2m");
  EXPECT_TRUE(extra.overline);
  EXPECT_FALSE(extra.dim || extra.hidden);
  // An unknown kind has no parameters.
  EXPECT_EQ(ApplyGraphicRendition("38;7;2", &extra), "\x1b[38;7m");
  EXPECT_TRUE(extra.dim);
  for (const char* torn : {"38;5", "38;2;1;2", "38"}) {
    EXPECT_EQ(ApplyGraphicRendition(torn, &extra),
              std::string("\x1b[") + torn + "m");
  }
}

}  // namespace
}  // namespace screen
