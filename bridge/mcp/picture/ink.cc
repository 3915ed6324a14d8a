#include "bridge/mcp/picture/ink.h"

#include <algorithm>
#include <utility>

namespace bridge {
namespace {

using corral::v1::Color;

// The first 16 entries of the palette, as xterm has them. A cube of 6 x 6 x 6
// colours and 24 grays follow.
constexpr uint32_t kNamed[] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00,
                               0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
                               0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00,
                               0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};
constexpr uint32_t kCubeBegin = 16;
constexpr uint32_t kGrayBegin = 232;

uint32_t PaletteColor(uint32_t index) {
  if (index < kCubeBegin) {
    return kNamed[index];
  }
  if (index >= kGrayBegin) {
    return (8 + 10 * (std::min(index, 255u) - kGrayBegin)) * 0x010101;
  }
  const auto level = [](uint32_t step) {
    return step == 0 ? 0 : 55 + 40 * step;
  };
  const uint32_t cube = index - kCubeBegin;
  return level(cube / 36) << 16 | level(cube / 6 % 6) << 8 | level(cube % 6);
}

uint32_t ToRgb(const Color& color) {
  return color.kind_case() == Color::kRgb ? color.rgb() & 0xffffff
                                          : PaletteColor(color.index());
}

uint32_t Mix(uint32_t a, uint32_t b) {
  return ((a & 0xfefefe) >> 1) + ((b & 0xfefefe) >> 1);
}

}  // namespace

Ink ToInk(const corral::v1::Style& style, bool inverse_screen) {
  Ink ink = {
      style.has_foreground() ? ToRgb(style.foreground()) : kDefaultForeground,
      style.has_background() ? ToRgb(style.background()) : kDefaultBackground};
  if (style.inverse() != inverse_screen) {
    std::swap(ink.foreground, ink.background);
  }
  if (style.dim()) {
    ink.foreground = Mix(ink.foreground, ink.background);
  }
  if (style.hidden()) {
    ink.foreground = ink.background;
  }
  return ink;
}

}  // namespace bridge
