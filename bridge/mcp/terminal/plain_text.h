// Output of a terminal as plain text.

#ifndef BRIDGE_MCP_TERMINAL_PLAIN_TEXT_H_
#define BRIDGE_MCP_TERMINAL_PLAIN_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Removes escape sequences and control characters other than newline and tab.
// A carriage return begins the line anew, as progress bars do, and a backspace
// takes the last character back. Bytes that are not UTF-8 stay.
std::string PlainText(absl::string_view output);

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_PLAIN_TEXT_H_
