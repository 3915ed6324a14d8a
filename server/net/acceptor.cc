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
#include "sandbox/base/peer_process.h"
#include "sandbox/base/unique_fd.h"

namespace server {
namespace {

// Connections accepted from one socket before the others get their turn.
constexpr int kTurn = 64;

// Wait before accepting again when no descriptor was left.
constexpr int kPauseMillis = 100;

bool IsShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS ||
         error == ENOMEM;
}

// The bytes that may be on their way to a client. The kernel's default is less
// than one chunk of output, and a socket takes more only when three quarters of
// that are read: each chunk would be sent in two parts, between which the
// server and the client wait for each other. A client that does not read keeps
// up to twice as much of the kernel's memory.
constexpr int kSendBuffer = 512 << 10;

bool IsUnixSocket(int connection) {
  int domain = AF_UNSPEC;
  socklen_t size = sizeof(domain);
  return ::getsockopt(connection, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
         domain == AF_UNIX;
}

// Returns true if a user other than root and the server's own made the
// connection, or a command, if these have the user id of the server. The
// socket's mode prevents the first, unless its owner has changed the mode; that
// no sandbox has the socket prevents the second.
bool IsStranger(int connection, bool commands_are_this_user) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
         (peer.uid != ::geteuid() && peer.uid != 0) ||
         (commands_are_this_user && sandbox::IsFromBelow(connection));
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
      // Returns at once if the thread must end.
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
    sandbox::UniqueFd accepted(
        ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!accepted.valid()) {
      // Other errors concern one connection, or mean that there is none.
      return !IsShortage(errno);
    }
    const bool is_local = IsUnixSocket(accepted.get());
    if (!Admit(accepted, is_local)) {
      continue;
    }
    if (is_local) {
      // Not for TCP, whose buffers the kernel sizes itself. A kernel that
      // allows less gives what it allows.
      ::setsockopt(accepted.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer,
                   sizeof(kSendBuffer));
    }
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
        connection;
    connection.listener_fd = socket;
    connection.fd = accepted.Release();
    connections_->HandleNewConnection(&connection);
  }
  return true;
}

bool Acceptor::Admit(const sandbox::UniqueFd& connection, bool is_local) {
  if (is_local && IsStranger(connection.get(), commands_are_this_user_)) {
    LOG(WARNING) << "a connection of another user is closed";
    return false;
  }
  const bool admitted = open_.Add(connection.get());
  if (!admitted && !is_full_) {
    LOG(WARNING) << "max_connections are open: further ones are closed";
  }
  is_full_ = !admitted;
  return admitted;
}

}  // namespace server
