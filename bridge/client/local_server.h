// Starts a corrald for this user on a Unix socket.

#ifndef BRIDGE_CLIENT_LOCAL_SERVER_H_
#define BRIDGE_CLIENT_LOCAL_SERVER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace client {

// Returns true if a process accepts connections on the socket. Fails with
// PermissionDenied if this user may not connect.
absl::StatusOr<bool> IsListening(const std::string& socket_path);

// The path of the corrald in the directory of the running program.
absl::StatusOr<std::string> NeighbouringServer();

// Returns once a server listens on `socket_path`. If none does, starts
// `program --listen unix:PATH --idle-exit-seconds 600` in a session of its own,
// which logs to corrald.log beside the socket. If CORRAL_CONFIG is set, it
// names the configuration: `--config FILE` follows. If any number of processes
// call this at the same time, one of them starts the server (flock on
// corrald.lock beside the socket).
//
// Fails with Unavailable if the program ended, or did not listen by `deadline`;
// the message holds the end of its log.
absl::Status EnsureLocalServer(const std::string& socket_path,
                               const std::string& program, absl::Time deadline);

}  // namespace client

#endif  // BRIDGE_CLIENT_LOCAL_SERVER_H_
