// The process at the other end of a Unix socket.

#ifndef SANDBOX_BASE_PEER_PROCESS_H_
#define SANDBOX_BASE_PEER_PROCESS_H_

namespace sandbox {

// Returns true if the process that made the connection lives in a pid namespace
// below that of the caller, as commands of sandboxes do, or if that is not
// known: it may have ended. Commands may have the user id of a server, but not
// the rights of its user.
bool IsFromBelow(int connection);

}  // namespace sandbox

#endif  // SANDBOX_BASE_PEER_PROCESS_H_
