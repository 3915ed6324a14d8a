// The colours in which a character is drawn.

#ifndef BRIDGE_MCP_PICTURE_INK_H_
#define BRIDGE_MCP_PICTURE_INK_H_

#include <cstdint>

#include "corral/v1/screen.pb.h"

namespace bridge {

// 0xRRGGBB, as all colours here.
inline constexpr uint32_t kDefaultForeground = 0xd0d0d0;
inline constexpr uint32_t kDefaultBackground = 0x101010;

struct Ink {
  uint32_t foreground;
  uint32_t background;
};

// `inverse_screen` is true if the screen has its colours swapped
// (Modes.inverse).
Ink ToInk(const corral::v1::Style& style, bool inverse_screen);

}  // namespace bridge

#endif  // BRIDGE_MCP_PICTURE_INK_H_
