// A screen as output that draws it.

#ifndef BRIDGE_MCP_TERMINAL_SCREEN_REDRAW_H_
#define BRIDGE_MCP_TERMINAL_SCREEN_REDRAW_H_

#include <string>

#include "corral/v1/screen.pb.h"

namespace bridge {

// Output that makes an empty terminal of the same size show the screen, with
// its cursor, title and modes. The scrollback, the screen that the alternate
// one hides, margins and tabs are not part of a Screen. The screen must have
// runs.
std::string Redraw(const corral::v1::Screen& screen);

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_SCREEN_REDRAW_H_
