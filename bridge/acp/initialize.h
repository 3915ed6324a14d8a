// Edits the client's `initialize`, the only message that the bridge changes.

#ifndef BRIDGE_ACP_INITIALIZE_H_
#define BRIDGE_ACP_INITIALIZE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Returns the request with params.clientCapabilities.terminal set to true, and
// with a params.protocolVersion above 1 lowered to 1, since version 2 of the
// protocol has no terminals. Every other byte stays. `line` is a JSON-RPC
// request, with or without its newline. It is returned unchanged if it is not
// JSON or has no params object.
// https://agentclientprotocol.com/protocol/v1/initialization
std::string EditInitialize(absl::string_view line);

}  // namespace bridge

#endif  // BRIDGE_ACP_INITIALIZE_H_
