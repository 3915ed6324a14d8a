// The one message that the bridge changes on its way: the client's
// `initialize`.

#ifndef BRIDGE_ACP_INITIALIZE_H_
#define BRIDGE_ACP_INITIALIZE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// The request as the agent shall see it: params.clientCapabilities.terminal is
// true, and a params.protocolVersion above 1 is 1, since version 2 of the
// protocol has no terminals. Every other byte stays. `line` is a JSON-RPC
// request with or without its newline; it is returned as it is if it is not
// JSON or has no params object.
// https://agentclientprotocol.com/protocol/v1/initialization
std::string EditInitialize(absl::string_view line);

}  // namespace bridge

#endif  // BRIDGE_ACP_INITIALIZE_H_
