#include "server/screen/emulator/graphic_rendition.h"

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

}  // namespace
}  // namespace screen
