#include "server/net/acceptor.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/server_builder.h"
#include "sandbox/base/log.h"
#include "sandbox/base/unique_fd.h"

namespace server {
namespace {

// What one socket gets before the others, and before it is to stop.
constexpr int kTurn = 64;

// Until descriptors may be there again.
constexpr int kPauseMillis = 100;

bool IsShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS ||
         error == ENOMEM;
}

}  // namespace

absl::Status Acceptor::Start() {
  stop_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_.valid()) {
    return absl::ErrnoToStatus(errno, "eventfd");
  }
  thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    // Cannot fail: the counter is far from full.
    [[maybe_unused]] const ssize_t written =
        ::write(stop_.get(), &one, sizeof(one));
    thread_.join();
  }
}

void Acceptor::Run() {
  std::vector<pollfd> polled = {{stop_.get(), POLLIN, 0}};
  for (const int socket : sockets_) {
    polled.push_back({socket, POLLIN, 0});
  }
  bool short_of_descriptors = false;
  while (true) {
    if (::poll(polled.data(), polled.size(), -1) < 0) {
      continue;
    }
    if (polled[0].revents != 0) {
      return;
    }
    const bool complete = AcceptReady(polled);
    if (!complete && !short_of_descriptors) {
      LOG(ERROR) << "no descriptors are left: connections have to wait";
    }
    short_of_descriptors = !complete;
    if (!complete) {
      // Unless it is to stop.
      ::poll(polled.data(), 1, kPauseMillis);
    }
  }
}

bool Acceptor::AcceptReady(const std::vector<pollfd>& polled) {
  bool complete = true;
  for (size_t i = 1; i < polled.size(); ++i) {
    complete = (polled[i].revents == 0 || AcceptSome(polled[i].fd)) && complete;
  }
  return complete;
}

bool Acceptor::AcceptSome(int socket) {
  for (int i = 0; i < kTurn; ++i) {
    const int fd =
        ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      // Anything else concerns one connection, or says that there is none.
      return !IsShortage(errno);
    }
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
        connection;
    connection.listener_fd = socket;
    connection.fd = fd;
    connections_->HandleNewConnection(&connection);
  }
  return true;
}

}  // namespace server
