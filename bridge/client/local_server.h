// Starting a corrald of one's own on a Unix socket.

#ifndef BRIDGE_CLIENT_LOCAL_SERVER_H_
#define BRIDGE_CLIENT_LOCAL_SERVER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace client {

// Whether somebody accepts connections there. PermissionDenied: may not tell.
absl::StatusOr<bool> IsListening(const std::string& socket_path);

// The corrald that stands next to the running program.
absl::StatusOr<std::string> NeighbouringServer();

// Returns once something listens on `socket_path`: at once if it does already,
// else after starting `program --listen unix:PATH --idle-exit-seconds 600` in a
// session of its own. Its messages go to corrald.log beside the socket. Of any
// number of processes that call this at one time, one starts the server
// (flock on corrald.lock beside the socket).
//
// Unavailable: the program ended, or did not listen by `deadline`; the message
// holds the end of its log.
absl::Status EnsureLocalServer(const std::string& socket_path,
                               const std::string& program, absl::Time deadline);

}  // namespace client

#endif  // BRIDGE_CLIENT_LOCAL_SERVER_H_
