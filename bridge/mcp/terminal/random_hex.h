// Identifiers of sessions and recordings.

#ifndef BRIDGE_MCP_TERMINAL_RANDOM_HEX_H_
#define BRIDGE_MCP_TERMINAL_RANDOM_HEX_H_

#include <cstddef>
#include <string>

namespace bridge {

// Returns a random number with that many hexadecimal digits. Thread-safe.
std::string RandomHex(size_t digits);

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_RANDOM_HEX_H_
