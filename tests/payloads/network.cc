#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "tests/payloads/payload.h"

namespace payloads {
namespace {

// Prints the families of which either call can make a socket, of any type.
int Families(int, char**) {
  for (const long call : {SYS_socket, SYS_socketpair}) {
    std::printf(call == SYS_socket ? "socket:" : "socketpair:");
    for (int family = 0; family < 64; ++family) {
      bool open = false;
      for (int type = 1; type <= 6; ++type) {
        int fds[2];
        if (::syscall(call, family, type, 0, fds) >= 0 || errno != EPERM) {
          open = true;
        }
      }
      if (open) {
        std::printf(" %d", family);
      }
    }
    std::printf("\n");
  }
  return 0;
}

int Sockets(int, char**) {
  Report("vsock", ::socket(AF_VSOCK, SOCK_STREAM, 0));
  Report("vsock, high bits",
         ::syscall(SYS_socket, 0x100000000L | AF_VSOCK, SOCK_STREAM, 0));
  Report("alg", ::socket(AF_ALG, SOCK_SEQPACKET, 0));
  Report("packet", ::socket(AF_PACKET, SOCK_RAW, 0));
  Report("raw icmp", ::socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
  Report("raw ip6", ::socket(AF_INET6, SOCK_RAW, IPPROTO_RAW));
  Report("netlink xfrm", ::socket(AF_NETLINK, SOCK_RAW, NETLINK_XFRM));
  Report("netlink netfilter",
         ::socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER));
  Report("netlink audit", ::socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT));
  Report("netlink xfrm, high bits", ::syscall(SYS_socket, AF_NETLINK, SOCK_RAW,
                                              0x100000000L | NETLINK_XFRM));
  return 0;
}

// Prints the allowed types and protocols of a family, as "type/protocol". A
// socket that is refused must fail in the filter, before the kernel loads a
// module, so the result of the kernel counts as allowed.
int SocketTypes(int, char**) {
  for (const int family : {AF_UNIX, AF_INET, AF_INET6}) {
    std::printf("%d:", family);
    for (int type = 1; type < 16; ++type) {
      for (int protocol = 0; protocol < 300; ++protocol) {
        const int fd =
            ::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
        if (fd >= 0 || (errno != EPROTONOSUPPORT && errno != EPERM)) {
          std::printf(" %d/%d", type, protocol);
        }
        ::close(fd);
      }
    }
    std::printf("\n");
  }
  constexpr long kHigh = 0x500000000L;
  Report("high bits of the type",
         ::syscall(SYS_socket, AF_INET, kHigh | SOCK_SEQPACKET, 0));
  Report("high bits of the protocol",
         ::syscall(SYS_socket, AF_INET, SOCK_STREAM, kHigh | IPPROTO_MPTCP));
  return 0;
}

long Connect(int family, const char* text, int port) {
  sockaddr_in6 six = {};
  auto* four = reinterpret_cast<sockaddr_in*>(&six);
  const int fd = ::socket(family, SOCK_STREAM, 0);
  if (family == AF_INET) {
    four->sin_family = AF_INET;
    four->sin_port = htons(static_cast<uint16_t>(port));
    ::inet_pton(AF_INET, text, &four->sin_addr);
  } else {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<uint16_t>(port));
    ::inet_pton(AF_INET6, text, &six.sin6_addr);
  }
  const long result =
      ::connect(fd, reinterpret_cast<sockaddr*>(&six),
                family == AF_INET ? sizeof(sockaddr_in) : sizeof(six));
  const int error = errno;
  ::close(fd);
  errno = error;
  return result;
}

// argv[1]: a port on which a service of the host listens.
int Host(int, char** argv) {
  const int port = std::atoi(argv[1]);
  Report("127.0.0.1", Connect(AF_INET, "127.0.0.1", port));
  Report("::1", Connect(AF_INET6, "::1", port));
  Report("169.254.169.254", Connect(AF_INET, "169.254.169.254", 80));
  Report("10.0.0.1", Connect(AF_INET, "10.0.0.1", port));
  Report("8.8.8.8", Connect(AF_INET, "8.8.8.8", 53));
  Report("2001:db8::1", Connect(AF_INET6, "2001:db8::1", 80));
  return 0;
}

int Loopback(int, char**) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  ::listen(listener, 1);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  Report("own loopback",
         Connect(AF_INET, "127.0.0.1", ntohs(address.sin_port)));
  return 0;
}

sockaddr_un Abstract(const char* name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path + 1, name, sizeof(address.sun_path) - 2);
  return address;
}

int AbstractConnect(int, char** argv) {
  const sockaddr_un address = Abstract(argv[1]);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  Report("connect", ::connect(fd, reinterpret_cast<const sockaddr*>(&address),
                              sizeof(address)));
  return 0;
}

int AbstractListen(int, char** argv) {
  const sockaddr_un address = Abstract(argv[1]);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  Report("bind", ::bind(fd, reinterpret_cast<const sockaddr*>(&address),
                        sizeof(address)));
  Report("listen", ::listen(fd, 1));
  for (;;) {
    ::pause();
  }
}

}  // namespace

const Entry kNetwork[] = {{"families", Families},
                          {"sockets", Sockets},
                          {"socket-types", SocketTypes},
                          {"host", Host},
                          {"loopback", Loopback},
                          {"abstract-connect", AbstractConnect},
                          {"abstract-listen", AbstractListen},
                          {nullptr, nullptr}};

}  // namespace payloads
