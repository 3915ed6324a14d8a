// Numbers of JSON that no floating point number can hold, such as 1e400: JSON
// allows them, nlohmann's parser does not.

#ifndef BRIDGE_JSONRPC_FINITE_NUMBERS_H_
#define BRIDGE_JSONRPC_FINITE_NUMBERS_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Returns the text with the largest finite number of the same sign in place of
// each one that is too large; nothing if there is none. Does not check whether
// the rest is JSON.
std::optional<std::string> WithFiniteNumbers(absl::string_view text);

}  // namespace bridge

#endif  // BRIDGE_JSONRPC_FINITE_NUMBERS_H_
