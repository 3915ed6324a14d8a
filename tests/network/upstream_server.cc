#include "tests/network/upstream_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace tests {

using sandbox::UniqueFd;

UpstreamServer::UpstreamServer(Serve serve, const char* address, uint16_t port)
    : serve_(std::move(serve)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  ::inet_pton(AF_INET, address, &name.sin_addr);
  socklen_t size = sizeof(name);
  const int on = 1;
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&name), size),
            0);
  EXPECT_EQ(::listen(listener_.get(), 4096), 0);
  ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &size);
  port_ = ntohs(name.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

UpstreamServer::~UpstreamServer() {
  // Ends accept(2).
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

int UpstreamServer::connections() {
  sandbox::MutexLock lock(&mutex_);
  return connections_;
}

void UpstreamServer::Accept() {
  for (;;) {
    UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid()) {
      return;
    }
    {
      sandbox::MutexLock lock(&mutex_);
      ++connections_;
    }
    threads_.emplace_back(
        [this, socket = std::move(client)] { serve_(socket.get()); });
  }
}

int SocketTo(uint16_t port) {
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in peer = {};
    socklen_t size = sizeof(peer);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
        peer.sin_family == AF_INET && peer.sin_port == htons(port) &&
        peer.sin_addr.s_addr == htonl(INADDR_LOOPBACK)) {
      return fd;
    }
  }
  return -1;
}

void Echo(int socket) {
  char bytes[16 << 10];
  for (;;) {
    const ssize_t got = ::recv(socket, bytes, sizeof(bytes), 0);
    if (got <= 0 || !SendAll(socket, {bytes, static_cast<size_t>(got)})) {
      return;
    }
  }
}

std::string ReadUntil(int socket, absl::string_view end) {
  std::string all;
  char bytes[16 << 10];
  while (end.empty() || !absl::EndsWith(all, end)) {
    const ssize_t got = ::recv(socket, bytes, sizeof(bytes), 0);
    if (got <= 0) {
      break;
    }
    all.append(bytes, static_cast<size_t>(got));
  }
  return all;
}

bool SendAll(int socket, absl::string_view bytes) {
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
