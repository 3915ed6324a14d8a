// The address of a corrald, in the form that users give it.

#ifndef BRIDGE_CLIENT_SERVER_ADDRESS_H_
#define BRIDGE_CLIENT_SERVER_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace client {

struct ServerAddress {
  // "unix:/absolute/path" or "HOST:PORT".
  std::string text;
  // The absolute path of the Unix socket; empty for HOST:PORT.
  std::string socket_path;
  // True if this is the default socket, because the user named no server.
  bool is_default = false;
};

// Returns `option` if it is not empty, else $CORRAL_SERVER, else the default
// socket: /run/corral/corrald.sock for root, for others
// $XDG_RUNTIME_DIR/corral/corrald.sock. Fails with InvalidArgument if the
// address is neither "unix:PATH" nor "HOST:PORT", or if the path is too long
// for a socket. Fails with FailedPrecondition if $XDG_RUNTIME_DIR is needed and
// not set.
absl::StatusOr<ServerAddress> ResolveServerAddress(absl::string_view option);

}  // namespace client

#endif  // BRIDGE_CLIENT_SERVER_ADDRESS_H_
