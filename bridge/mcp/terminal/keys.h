// Names of keys, and the bytes that a terminal sends for them.

#ifndef BRIDGE_MCP_TERMINAL_KEYS_H_
#define BRIDGE_MCP_TERMINAL_KEYS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

// Keys that are held down.
struct Modifiers {
  bool shift = false;
  bool alt = false;
  bool ctrl = false;
};

// Returns the bytes of a key: "Enter", "Ctrl+C", "F5". White space around the
// name and the case of its letters do not matter. NotFound: there is no such
// key; the message names some that exist.
absl::StatusOr<std::string> KeyBytes(absl::string_view key);

// The same while other keys are held down, as xterm sends it
// (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html, "PC-Style Function
// Keys"). `key` may also be "Space" or one character. Fails with
// InvalidArgument if it is neither.
absl::StatusOr<std::string> ModifiedKeyBytes(absl::string_view key,
                                             const Modifiers& modifiers);

// The bytes of a key for a program that has asked for application cursor keys
// (DECCKM): those of arrows, Home and End begin with ESC O.
std::string ApplicationKeyBytes(absl::string_view bytes);

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_KEYS_H_
