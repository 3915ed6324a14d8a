// Which user is at the other end of a TCP connection on this machine.

#ifndef BRIDGE_MCP_HTTP_LOOPBACK_PEER_H_
#define BRIDGE_MCP_HTTP_LOOPBACK_PEER_H_

#include <sys/socket.h>

#include "absl/status/status.h"

namespace bridge {

// PermissionDenied: the other end belongs to another user than this process's
// and root, or cannot be found. The client must still have its socket open.
absl::Status CheckLoopbackPeer(const sockaddr_storage& client,
                               const sockaddr_storage& server);

}  // namespace bridge

#endif  // BRIDGE_MCP_HTTP_LOOPBACK_PEER_H_
