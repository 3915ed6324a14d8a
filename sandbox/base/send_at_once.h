// Sends data on a TCP connection as it comes, without collecting it first.

#ifndef SANDBOX_BASE_SEND_AT_ONCE_H_
#define SANDBOX_BASE_SEND_AT_ONCE_H_

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace sandbox {

// See TCP_NODELAY in tcp(7). Does nothing to other sockets.
inline void SendAtOnce(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace sandbox

#endif  // SANDBOX_BASE_SEND_AT_ONCE_H_
