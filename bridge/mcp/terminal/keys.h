// Names of keys, and the bytes that a terminal sends for them.

#ifndef BRIDGE_MCP_TERMINAL_KEYS_H_
#define BRIDGE_MCP_TERMINAL_KEYS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

// Returns the bytes of a key: "Enter", "Ctrl+C", "F5". White space around the
// name and the case of its letters do not matter. NotFound: there is no such
// key; the message names some that exist.
absl::StatusOr<std::string> KeyBytes(absl::string_view key);

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_KEYS_H_
