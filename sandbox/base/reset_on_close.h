// Ends a TCP connection with a reset instead of a regular end.

#ifndef SANDBOX_BASE_RESET_ON_CLOSE_H_
#define SANDBOX_BASE_RESET_ON_CLOSE_H_

#include <sys/socket.h>

namespace sandbox {

// Makes close(2) send a RST: the peer must not see a regular end. See
// SO_LINGER in socket(7).
inline void ResetOnClose(int socket) {
  const linger at_once = {1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

}  // namespace sandbox

#endif  // SANDBOX_BASE_RESET_ON_CLOSE_H_
