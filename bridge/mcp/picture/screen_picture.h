// Draws a screen.

#ifndef BRIDGE_MCP_PICTURE_SCREEN_PICTURE_H_
#define BRIDGE_MCP_PICTURE_SCREEN_PICTURE_H_

#include "bridge/mcp/picture/glyphs.h"
#include "bridge/mcp/picture/png_file.h"
#include "corral/v1/screen.pb.h"

namespace bridge {

// Draws the visible lines with colours, attributes and the cursor, in 8 x 16
// pixels for each cell. The screen must have runs.
Raster DrawScreen(const corral::v1::Screen& screen, const Glyphs& glyphs);

}  // namespace bridge

#endif  // BRIDGE_MCP_PICTURE_SCREEN_PICTURE_H_
