#include "server/net/handover.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/log.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/peer_process.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/base/version.h"
#include "sandbox/kernel/user_namespace.h"

namespace server {
namespace {

using sandbox::MutexLock;
using sandbox::UniqueFd;

constexpr char kGreeting[] = "corrald-handover 1 ";
constexpr char kSocketName[] = "handover.sock";
constexpr int kBacklog = 4;
// Wait before accepting again when no descriptor was left.
constexpr int kPauseMillis = 100;
// Limit for a successor's greeting.
constexpr timeval kGreetingPatience = {1, 0};
// A server needs less to give way or to end.
constexpr timeval kTakeOverPatience = {60, 0};

std::string Greeting() { return absl::StrCat(kGreeting, sandbox::kVersion); }

// The address of the socket in a directory whose path may be longer than
// sun_path: the path leads through an open descriptor of the directory.
struct SocketAddress {
  UniqueFd directory;
  sockaddr_un address = {};

  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&address);
  }
};

absl::StatusOr<SocketAddress> AddressIn(const std::string& directory) {
  SocketAddress result;
  result.directory.Reset(
      ::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!result.directory.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open(", directory, ")"));
  }
  result.address.sun_family = AF_UNIX;
  const std::string path =
      absl::StrCat("/proc/self/fd/", result.directory.get(), "/", kSocketName);
  std::memcpy(result.address.sun_path, path.data(), path.size());
  return result;
}

absl::StatusOr<UniqueFd> MakeSocket(int flags) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
  if (!socket.valid()) {
    return absl::ErrnoToStatus(errno, "socket(AF_UNIX)");
  }
  return socket;
}

void SetPatience(const UniqueFd& socket, const timeval& patience) {
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience,
               sizeof(patience));
}

// A command may have the user id of the server, too.
bool IsSameUser(const UniqueFd& connection) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return ::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer,
                      &size) == 0 &&
         peer.uid == ::geteuid() &&
         !(sandbox::CommandsAreThisUser() &&
           sandbox::IsFromBelow(connection.get()));
}

absl::Status GoneStatus() {
  return absl::NotFoundError("the other server is gone");
}

// A peer that was killed before it read everything shows as an error of the
// connection, not as its end.
bool IsHungUp(const UniqueFd& connection) {
  pollfd poll = {connection.get(), 0, 0};
  return ::poll(&poll, 1, 0) == 1 && (poll.revents & POLLHUP) != 0;
}

// Returns the version of the server at the other end; `sockets` gets the
// sockets that came with it.
absl::StatusOr<std::string> ReceiveGreeting(const UniqueFd& connection,
                                            std::vector<UniqueFd>* sockets) {
  char bytes[256];
  ASSIGN_OR_RETURN(
      sandbox::ReceivedPacket packet,
      sandbox::ReceiveWithFds(connection.get(), bytes, sizeof(bytes)));
  if (packet.size == 0) {
    return GoneStatus();
  }
  const absl::string_view text(bytes, packet.size);
  if (!absl::StartsWith(text, kGreeting)) {
    return absl::FailedPreconditionError(
        "the other server speaks another protocol");
  }
  *sockets = std::move(packet.fds);
  return std::string(text.substr(std::strlen(kGreeting)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Handover>> Handover::Listen(
    const std::string& state_directory, std::function<void()> on_successor) {
  ASSIGN_OR_RETURN(const SocketAddress address, AddressIn(state_directory));
  ASSIGN_OR_RETURN(UniqueFd listener, MakeSocket(SOCK_NONBLOCK));
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  // The caller holds the lock of the directory, so an existing file belongs to
  // a server that has ended.
  ::unlinkat(address.directory.get(), kSocketName, 0);
  // bind(2) makes the file with the mode that the socket has by then.
  if (!stop.valid() || ::fchmod(listener.get(), 0600) != 0 ||
      ::bind(listener.get(), address.get(), sizeof(address.address)) != 0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("bind(", state_directory, "/", kSocketName, ")"));
  }
  // make_unique cannot reach the constructor.
  return std::unique_ptr<Handover>(new Handover(
      std::move(listener), std::move(stop), std::move(on_successor)));
}

Handover::Handover(UniqueFd listener, UniqueFd stop,
                   std::function<void()> on_successor)
    : listener_(std::move(listener)),
      stop_(std::move(stop)),
      on_successor_(std::move(on_successor)),
      thread_([this] { Run(); }) {}

Handover::~Handover() {
  const uint64_t one = 1;
  // Cannot fail: the counter is far from full.
  [[maybe_unused]] const ssize_t written =
      ::write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void Handover::Run() {
  pollfd polled[] = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  while (polled[0].revents == 0) {
    if (::poll(polled, 2, -1) <= 0 || polled[1].revents == 0) {
      continue;
    }
    UniqueFd connection(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.valid()) {
      Welcome(std::move(connection));
    } else {
      // Perhaps no descriptor is left. Returns at once if the thread must end.
      ::poll(polled, 1, kPauseMillis);
    }
  }
}

void Handover::Welcome(UniqueFd connection) {
  if (!IsSameUser(connection)) {
    return;
  }
  SetPatience(connection, kGreetingPatience);
  std::vector<UniqueFd> nothing;
  const absl::StatusOr<std::string> version =
      ReceiveGreeting(connection, &nothing);
  if (!version.ok() || successor_waits()) {
    LOG(WARNING) << "refused a successor: "
                 << (version.ok() ? "another one waits"
                                  : version.status().ToString());
    return;
  }
  LOG(INFO) << "corrald " << *version << " asks to take over";
  {
    MutexLock lock(&mutex_);
    successor_ = std::move(connection);
  }
  on_successor_();
}

bool Handover::successor_waits() {
  MutexLock lock(&mutex_);
  if (!successor_.valid()) {
    return false;
  }
  // A successor sends nothing after its greeting: only the end can be read.
  pollfd end = {successor_.get(), POLLIN, 0};
  if (::poll(&end, 1, 0) != 0) {
    successor_.Reset();
  }
  return successor_.valid();
}

absl::Status Handover::Send(const std::vector<int>& sockets) {
  MutexLock lock(&mutex_);
  const std::string greeting = Greeting();
  return sandbox::SendWithFds(successor_.get(), greeting.data(),
                              greeting.size(), sockets);
}

absl::StatusOr<std::vector<UniqueFd>> TakeOver(
    const std::string& state_directory,
    absl::FunctionRef<absl::Status()> prepare) {
  ASSIGN_OR_RETURN(const SocketAddress address, AddressIn(state_directory));
  ASSIGN_OR_RETURN(const UniqueFd connection, MakeSocket(0));
  if (::connect(connection.get(), address.get(), sizeof(address.address)) !=
      0) {
    return errno == ENOENT || errno == ECONNREFUSED
               ? absl::NotFoundError("no server runs")
               : absl::ErrnoToStatus(errno, "connect(handover.sock)");
  }
  RETURN_IF_ERROR(prepare());
  SetPatience(connection, kTakeOverPatience);
  const std::string greeting = Greeting();
  std::vector<UniqueFd> sockets;
  const absl::Status sent = sandbox::SendWithFds(
      connection.get(), greeting.data(), greeting.size(), {});
  const absl::StatusOr<std::string> version =
      sent.ok() ? ReceiveGreeting(connection, &sockets) : sent;
  if (!version.ok()) {
    return IsHungUp(connection) ? GoneStatus() : version.status();
  }
  LOG(INFO) << "taking over from corrald " << *version;
  return sockets;
}

}  // namespace server
