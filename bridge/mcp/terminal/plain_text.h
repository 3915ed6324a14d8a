// Output of a terminal as plain text.

#ifndef BRIDGE_MCP_TERMINAL_PLAIN_TEXT_H_
#define BRIDGE_MCP_TERMINAL_PLAIN_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Removes escape sequences and control characters other than newline and tab.
// Output after a carriage return replaces the line, as progress bars need it; a
// backspace removes the last character. Bytes that are not UTF-8 stay.
std::string PlainText(absl::string_view output);

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_PLAIN_TEXT_H_
