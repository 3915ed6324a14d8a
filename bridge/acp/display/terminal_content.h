// Terminals in the content of a tool call, as texts of JSON.
// https://agentclientprotocol.com/protocol/v1/tool-calls#content

#ifndef BRIDGE_ACP_DISPLAY_TERMINAL_CONTENT_H_
#define BRIDGE_ACP_DISPLAY_TERMINAL_CONTENT_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace bridge {

// The ids of the terminals in `content`, an array; empty if it is none.
std::vector<std::string> TerminalsIn(absl::string_view content);

// Returns the content with each terminal replaced by the item that `replace`
// returns for its id, or left out if that is empty. Other items keep every
// byte.
std::string ReplaceTerminals(
    absl::string_view content,
    absl::FunctionRef<std::string(const std::string& id)> replace);

// Returns the content with one more item.
std::string WithItem(absl::string_view content, absl::string_view item);

std::string TerminalItem(absl::string_view id);

// Shows a text as the output of a terminal, in a Markdown block that it cannot
// end by itself.
std::string ConsoleItem(absl::string_view text);

std::string PlainTextItem(absl::string_view text);

}  // namespace bridge

#endif  // BRIDGE_ACP_DISPLAY_TERMINAL_CONTENT_H_
