// Draws a screen in the format SVG (https://www.w3.org/TR/SVG2/).

#ifndef BRIDGE_MCP_PICTURE_SCREEN_SVG_H_
#define BRIDGE_MCP_PICTURE_SCREEN_SVG_H_

#include <string>

#include "corral/v1/screen.pb.h"

namespace bridge {

// Draws the visible lines with colours, attributes and the cursor. Text stays
// text, so that people can select it. Each run keeps its columns, whatever font
// shows it. The screen must have runs.
std::string ToSvg(const corral::v1::Screen& screen);

}  // namespace bridge

#endif  // BRIDGE_MCP_PICTURE_SCREEN_SVG_H_
