#include "bridge/mcp/picture/ink.h"

#include <cstdint>
#include <utility>

#include "gtest/gtest.h"

namespace bridge {
namespace {

using corral::v1::Style;

uint32_t ForegroundOf(uint32_t index) {
  Style style;
  style.mutable_foreground()->set_index(index);
  return ToInk(style, false).foreground;
}

TEST(InkTest, HasThePaletteOfXterm) {
  const std::pair<uint32_t, uint32_t> colors[] = {
      {0, 0x000000},   {1, 0xcd0000},   {15, 0xffffff},  {16, 0x000000},
      {17, 0x00005f},  {21, 0x0000ff},  {22, 0x005f00},  {52, 0x5f0000},
      {231, 0xffffff}, {232, 0x080808}, {255, 0xeeeeee}, {999, 0xeeeeee}};
  for (const auto& [index, rgb] : colors) {
    EXPECT_EQ(ForegroundOf(index), rgb) << index;
  }
}

TEST(InkTest, TakesColoursAsTheyAreAndTheUsualOnesElse) {
  Style style;
  const Ink usual = ToInk(style, false);
  EXPECT_EQ(usual.foreground, kDefaultForeground);
  EXPECT_EQ(usual.background, kDefaultBackground);
  style.mutable_background()->set_rgb(0xff123456);
  EXPECT_EQ(ToInk(style, false).background, 0x123456);
}

TEST(InkTest, ExchangesColoursOnce) {
  Style style;
  style.mutable_foreground()->set_rgb(0x111111);
  style.mutable_background()->set_rgb(0x222222);
  EXPECT_EQ(ToInk(style, true).foreground, 0x222222);
  style.set_inverse(true);
  EXPECT_EQ(ToInk(style, false).foreground, 0x222222);
  EXPECT_EQ(ToInk(style, false).background, 0x111111);
  EXPECT_EQ(ToInk(style, true).foreground, 0x111111);
}

TEST(InkTest, DimsAndHidesText) {
  Style style;
  style.mutable_foreground()->set_rgb(0x204060);
  style.mutable_background()->set_rgb(0x000020);
  style.set_dim(true);
  EXPECT_EQ(ToInk(style, false).foreground, 0x102040);
  style.set_hidden(true);
  EXPECT_EQ(ToInk(style, false).foreground, 0x000020);
}

}  // namespace
}  // namespace bridge
