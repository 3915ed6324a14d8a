// Finds out which user is at the other end of a TCP connection on this machine.

#ifndef BRIDGE_MCP_HTTP_LOOPBACK_PEER_H_
#define BRIDGE_MCP_HTTP_LOOPBACK_PEER_H_

#include <sys/socket.h>

#include "absl/status/status.h"

namespace bridge {

// Fails with PermissionDenied if the other end belongs neither to this
// process's user nor to root, or is not found. A client that has closed its
// socket is not found.
absl::Status CheckLoopbackPeer(const sockaddr_storage& client,
                               const sockaddr_storage& server);

}  // namespace bridge

#endif  // BRIDGE_MCP_HTTP_LOOPBACK_PEER_H_
