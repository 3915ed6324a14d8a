// JSON values. This folder is the only one that knows which library parses
// them.
//
// Values are built and read with nlohmann's interface. Its accessors throw if
// the value has another type: ask is_string() and the like first.

#ifndef BRIDGE_JSONRPC_JSON_H_
#define BRIDGE_JSONRPC_JSON_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace bridge {

using Json = nlohmann::json;
// Keeps the members of an object in the order in which they were added.
using OrderedJson = nlohmann::ordered_json;

// The library copies and serializes values by recursion, so a value that nests
// deeper than this would overflow the stack.
constexpr size_t kMaxJsonDepth = 500;

// Returns nothing if `text` is not one JSON value in valid UTF-8, or nests
// arrays and objects deeper than kMaxJsonDepth. If an object has two members of
// one name, the last one counts. A number that is too large for a double
// becomes the largest double.
std::optional<Json> ParseJson(absl::string_view text);

// The same, with the members in the order of the text.
std::optional<OrderedJson> ParseOrderedJson(absl::string_view text);

// Returns true if `text` is one JSON value in valid UTF-8, of any depth. Builds
// no value and does not recurse.
bool IsJson(absl::string_view text);

// How deep arrays and objects nest in `text`: 0 for "1", 1 for "[1]". Does not
// recurse. If `text` is not JSON, the result is at least what a parser would
// have reached before it failed.
size_t NestingDepth(absl::string_view text);

// Writes the value on one line. Bytes of a string that are not UTF-8 become
// U+FFFD.
std::string Serialize(const Json& value);
std::string SerializeOrdered(const OrderedJson& value);

// Writes the value as JavaScript's JSON.stringify(value, null, 2) does.
std::string SerializeIndented(const OrderedJson& value);

// The number as JavaScript writes it: an integer without a fraction.
OrderedJson JavaScriptNumber(double value);

}  // namespace bridge

#endif  // BRIDGE_JSONRPC_JSON_H_
