// TCP sockets on the loopback interface of the present network namespace.

#ifndef TESTS_NETWORK_LOOPBACK_H_
#define TESTS_NETWORK_LOOPBACK_H_

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "sandbox/base/unique_fd.h"

namespace tests {

struct LoopbackListener {
  sandbox::UniqueFd socket;
  uint16_t port = 0;
};

// Listens at 127.0.0.1 or ::1, on `port` or, if it is 0, on any. The socket is
// invalid if the address is in use.
LoopbackListener ListenOnLoopback(int family = AF_INET, uint16_t port = 0,
                                  int backlog = 1024);

// A port of 127.0.0.1 and ::1 on which no other process can listen meanwhile.
struct LoopbackPort {
  uint16_t number = 0;
  // Blocking sockets that refuse connections until they listen.
  sandbox::UniqueFd ipv4;
  // Invalid if this host has no IPv6.
  sandbox::UniqueFd ipv6;
};
LoopbackPort ReserveLoopbackPort();

// A port on which nobody listens: that of a listener that was closed.
uint16_t UnusedPort();

// A blocking socket that is connected to `port`; invalid if it is refused.
sandbox::UniqueFd ConnectToLoopback(uint16_t port, int family = AF_INET);

// Two connected blocking sockets.
std::pair<sandbox::UniqueFd, sandbox::UniqueFd> MakeConnection();

// Closes the socket with an RST.
void ResetConnection(sandbox::UniqueFd* socket);

// Blocks until `size` bytes came, or to the end of the stream.
std::string Receive(int socket, size_t size);

// Blocks; returns what recv(2) of one byte does: 1, 0 at the end of the stream,
// or an errno, negated.
int ReceiveEnd(int socket);

// Blocks until all is sent. Returns false if the connection is broken.
bool Send(int socket, absl::string_view bytes);

}  // namespace tests

#endif  // TESTS_NETWORK_LOOPBACK_H_
