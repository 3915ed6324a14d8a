// A screen as text.

#ifndef BRIDGE_MCP_TERMINAL_SCREEN_TEXT_H_
#define BRIDGE_MCP_TERMINAL_SCREEN_TEXT_H_

#include <string>

#include "corral/v1/screen.pb.h"

namespace bridge {

// The visible lines, all of them, joined by newlines.
std::string VisibleText(const corral::v1::Screen& screen);

// Scrollback and visible lines, without the blank ones at the end. Empty if all
// lines are blank.
std::string WholeText(const corral::v1::Screen& screen);

// The visible lines with the escape sequences of their colours and attributes,
// without the blank ones at the end. Each line is filled with spaces up to the
// terminal's width and ends with a reset. The screen must have runs.
std::string AnsiText(const corral::v1::Screen& screen);

// One line with the escape sequences of its colours and attributes, which are
// reset at its end. The line must have runs.
std::string StyledLine(const corral::v1::Line& line);

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_SCREEN_TEXT_H_
