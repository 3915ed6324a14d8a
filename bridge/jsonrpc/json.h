// JSON values. This folder is the only place that knows which library parses
// them.
//
// Values are built and read with nlohmann's interface, whose accessors throw on
// a type that is not there: ask is_string() and the like first.

#ifndef BRIDGE_JSONRPC_JSON_H_
#define BRIDGE_JSONRPC_JSON_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace bridge {

using Json = nlohmann::json;

// Nothing, if `text` is not one JSON value in valid UTF-8. Of members with one
// name the last counts.
std::optional<Json> ParseJson(absl::string_view text);

// Whether ParseJson would succeed; builds no value.
bool IsJson(absl::string_view text);

// On one line. What is not UTF-8 in a string becomes U+FFFD.
std::string Serialize(const Json& value);

}  // namespace bridge

#endif  // BRIDGE_JSONRPC_JSON_H_
