// The servers of the figures about networks. They print their port.
//
//   network_server serve PORT      the first byte of a client says what it
//   gets:
//                                  d, data until it leaves; e, an echo
//   network_server proxy UPSTREAM  a plain proxy to that port, which receives
//                                  and sends 64 KiB at a time

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/benchmarks/network_socket.h"

namespace tests {
namespace {

constexpr int kBacklog = 4096;

void Pump(int from, int to) {
  std::vector<char> block(kBlock);
  ssize_t size = 0;
  while ((size = ::recv(from, block.data(), block.size(), 0)) > 0 &&
         SendAll(to, block.data(), static_cast<size_t>(size))) {
  }
  ::shutdown(to, SHUT_WR);
  ::shutdown(from, SHUT_RD);
}

void Serve(int socket) {
  char kind = 0;
  const std::vector<char> block(kBlock);
  if (::recv(socket, &kind, 1, 0) == 1 && kind == 'e') {
    Pump(socket, socket);
  }
  while (kind == 'd' && SendAll(socket, block.data(), block.size())) {
  }
  ::close(socket);
}

void Forward(int socket, const char* upstream_port) {
  const int upstream = Connect("127.0.0.1", upstream_port);
  std::thread answers([&] { Pump(upstream, socket); });
  Pump(socket, upstream);
  answers.join();
  ::close(upstream);
  ::close(socket);
}

template <typename Each>
void Listen(int port, Each each) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(name);
  auto* address = reinterpret_cast<sockaddr*>(&name);
  Check(::bind(listener, address, size) == 0, "bind");
  Check(::listen(listener, kBacklog) == 0, "listen");
  ::getsockname(listener, address, &size);
  std::printf("%d\n", ntohs(name.sin_port));
  std::fflush(stdout);
  while (true) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    Check(socket >= 0, "accept");
    SendAtOnce(socket);
    std::thread([=] { each(socket); }).detach();
  }
}

}  // namespace
}  // namespace tests

int main(int argc, char** argv) {
  tests::AllowManySockets();
  const std::string role = argc == 3 ? argv[1] : "";
  if (role == "serve") {
    tests::Listen(std::atoi(argv[2]), tests::Serve);
  } else if (role == "proxy") {
    tests::Listen(0, [=](int socket) { tests::Forward(socket, argv[2]); });
  }
  return 2;
}
