// Repairs text that JavaScript clients may send.

#ifndef BRIDGE_MCP_PROTOCOL_SURROGATES_H_
#define BRIDGE_MCP_PROTOCOL_SURROGATES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Replaces each escaped half of a surrogate pair that stands alone in the JSON
// text ("\ud83d") by the replacement character, as JavaScript does when it
// converts such a string to UTF-8. A JSON parser would refuse the message.
std::string ReplaceLoneSurrogates(absl::string_view json);

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_SURROGATES_H_
