// Where a corrald listens, as a user names it.

#ifndef BRIDGE_CLIENT_SERVER_ADDRESS_H_
#define BRIDGE_CLIENT_SERVER_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace client {

struct ServerAddress {
  // "unix:/absolute/path" or "HOST:PORT".
  std::string text;
  // Of a Unix socket, absolute; empty for HOST:PORT.
  std::string socket_path;
  // Nobody named it: it is the default socket.
  bool is_default = false;
};

// `option` if it is not empty, else $CORRAL_SERVER, else the default socket:
// /run/corral/corrald.sock for root, for others
// $XDG_RUNTIME_DIR/corral/corrald.sock. InvalidArgument: neither "unix:PATH"
// nor "HOST:PORT", or a path too long for a socket; FailedPrecondition: no
// $XDG_RUNTIME_DIR.
absl::StatusOr<ServerAddress> ResolveServerAddress(absl::string_view option);

}  // namespace client

#endif  // BRIDGE_CLIENT_SERVER_ADDRESS_H_
