// The parts of a session/request_permission that all questions of the bridge
// share. https://agentclientprotocol.com/protocol/v1/tool-calls

#ifndef BRIDGE_ACP_REQUESTS_PERMISSION_H_
#define BRIDGE_ACP_REQUESTS_PERMISSION_H_

#include <string>

#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {

// An option whose id is its kind: "allow_once", "allow_always", "reject_once"
// or "reject_always". The user sees `name`.
Json PermissionOption(const char* kind, const char* name);

// The id of the option that the user selected; empty if none.
std::string SelectedOption(const Message& response);

}  // namespace bridge

#endif  // BRIDGE_ACP_REQUESTS_PERMISSION_H_
