#include "tests/network/loopback.h"

#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>

namespace tests {
namespace {

using sandbox::UniqueFd;

struct Address {
  sockaddr_storage name = {};
  socklen_t size = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&name); }
};

Address LoopbackAddress(int family, uint16_t port) {
  Address address;
  if (family == AF_INET) {
    auto* const name = reinterpret_cast<sockaddr_in*>(&address.name);
    name->sin_family = AF_INET;
    name->sin_port = htons(port);
    name->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.size = sizeof(*name);
  } else {
    auto* const name = reinterpret_cast<sockaddr_in6*>(&address.name);
    name->sin6_family = AF_INET6;
    name->sin6_port = htons(port);
    name->sin6_addr = in6addr_loopback;
    address.size = sizeof(*name);
  }
  return address;
}

uint16_t PortOf(const UniqueFd& socket) {
  Address address;
  address.size = sizeof(address.name);
  ::getsockname(socket.get(), address.get(), &address.size);
  // At the same place in both kinds of addresses.
  return ntohs(reinterpret_cast<sockaddr_in*>(&address.name)->sin_port);
}

// Invalid if the address is in use.
UniqueFd BindToLoopback(int family, uint16_t port) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Address address = LoopbackAddress(family, port);
  if (::bind(socket.get(), address.get(), address.size) != 0) {
    socket.Reset();
  }
  return socket;
}

}  // namespace

LoopbackListener ListenOnLoopback(int family, uint16_t port, int backlog) {
  LoopbackListener listener;
  listener.socket.Reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Address address = LoopbackAddress(family, port);
  const int on = 1;
  ::setsockopt(listener.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on,
               sizeof(on));
  if (::bind(listener.socket.get(), address.get(), address.size) != 0 ||
      ::listen(listener.socket.get(), backlog) != 0) {
    listener.socket.Reset();
    return listener;
  }
  listener.port = PortOf(listener.socket);
  return listener;
}

LoopbackPort ReserveLoopbackPort() {
  LoopbackPort port;
  // Another process may have the number at 127.0.0.1.
  while (!port.ipv4.valid()) {
    port.ipv6 = BindToLoopback(AF_INET6, 0);
    port.ipv4 =
        BindToLoopback(AF_INET, port.ipv6.valid() ? PortOf(port.ipv6) : 0);
  }
  port.number = PortOf(port.ipv4);
  return port;
}

uint16_t UnusedPort() { return ListenOnLoopback().port; }

UniqueFd ConnectToLoopback(uint16_t port, int family) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Address address = LoopbackAddress(family, port);
  if (::connect(socket.get(), address.get(), address.size) != 0) {
    socket.Reset();
  }
  return socket;
}

std::pair<UniqueFd, UniqueFd> MakeConnection() {
  const LoopbackListener listener = ListenOnLoopback();
  UniqueFd client = ConnectToLoopback(listener.port);
  return {std::move(client), UniqueFd(::accept4(listener.socket.get(), nullptr,
                                                nullptr, SOCK_CLOEXEC))};
}

void ResetConnection(UniqueFd* socket) {
  const linger now = {1, 0};
  ::setsockopt(socket->get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  socket->Reset();
}

std::string Receive(int socket, size_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::recv(socket, bytes.data() + done, size - done, 0);
    if (got <= 0) {
      break;
    }
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

int ReceiveEnd(int socket) {
  char byte;
  const ssize_t got = ::recv(socket, &byte, 1, 0);
  return got < 0 ? -errno : static_cast<int>(got);
}

bool Send(int socket, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace tests
