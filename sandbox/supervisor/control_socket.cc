#include "sandbox/supervisor/control_socket.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/base/log.h"
#include "sandbox/base/peer_process.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unix_address.h"
#include "sandbox/kernel/user_namespace.h"

namespace sandbox {
namespace {

// Connections of servers that were killed also fill this queue until they are
// accepted.
constexpr int kBacklog = 128;

// The delay before the next attempt to send when this host lacks memory for a
// message.
constexpr absl::Duration kFlushRetry = absl::Milliseconds(20);

// The peer connected with the user id of this process, and is no command that
// has this id, too. Root has no privilege here, unless the supervisor is root.
bool IsSameUser(const UniqueFd& peer) {
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  return ::getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &credentials,
                      &size) == 0 &&
         credentials.uid == ::geteuid() &&
         !(CommandsAreThisUser() && IsFromBelow(peer.get()));
}

}  // namespace

ControlSocket::ControlSocket(EventLoop* loop, PacketSocket first,
                             OnRequest on_request,
                             std::function<void()> connected,
                             std::function<void()> disconnected)
    : loop_(loop),
      on_request_(std::move(on_request)),
      connected_(std::move(connected)),
      disconnected_(std::move(disconnected)) {
  Adopt(std::move(first));
}

ControlSocket::~ControlSocket() {
  Disconnect();
  loop_->Unwatch(listener_.get());
}

absl::Status ControlSocket::Open() {
  listener_ = UniqueFd(
      ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return listener_.valid() ? absl::OkStatus()
                           : absl::ErrnoToStatus(errno, "control socket");
}

absl::Status ControlSocket::Listen(const std::string& directory) {
  const UniqueFd parent(
      ::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", directory));
  }
  // Bound to another name until it accepts connections: a server that finds the
  // socket and cannot connect concludes that the supervisor is dead.
  constexpr char kUnready[] = "control.sock.new";
  const std::string unready = absl::StrCat(directory, "/", kUnready);
  const std::string ready = absl::StrCat(directory, "/control.sock");
  ::unlink(unready.c_str());
  const sockaddr_un address = UnixAddress(parent.get(), kUnready);
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address),
             sizeof(address)) != 0 ||
      ::listen(listener_.get(), kBacklog) != 0 ||
      ::rename(unready.c_str(), ready.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("bind ", ready));
  }
  loop_->Watch(listener_.get(), EPOLLIN, [this](uint32_t) { Accept(); });
  return absl::OkStatus();
}

void ControlSocket::Accept() {
  UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr,
                        SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) {
    return;
  }
  if (!IsSameUser(fd)) {
    LOG(WARNING) << "control socket: a peer of another user was refused";
    return;
  }
  // Requests of the earlier server take effect, also those without an answer.
  while (socket_.valid() && ReceiveOne()) {
  }
  Disconnect();
  Adopt(PacketSocket(std::move(fd)));
  connected_();
}

void ControlSocket::Adopt(PacketSocket socket) {
  socket_ = std::move(socket);
  waiting_ = false;
  loop_->Watch(socket_.fd(), EPOLLIN,
               [this](uint32_t events) { OnReady(events); });
}

void ControlSocket::OnReady(uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    Flush();
  }
  if (socket_.valid() && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    // One message for each event: a read that finds nothing costs as much as an
    // event.
    ReceiveOne();
  }
}

bool ControlSocket::ReceiveOne() {
  wire::ToSupervisor request;
  const absl::StatusOr<bool> got = socket_.Receive(&request);
  if (!got.ok()) {
    Disconnect();
    disconnected_();
    return false;
  }
  if (*got) {
    on_request_(std::move(request));
  }
  return *got;
}

void ControlSocket::Send(wire::FromSupervisor message,
                         std::vector<UniqueFd> fds) {
  if (socket_.valid()) {
    if (message.execution().has_exit()) {
      // The record has the final state of the logs.
      changed_.erase(message.execution().id());
    }
    queue_.push_back({std::move(message), std::move(fds)});
    Flush();
  }
}

void ControlSocket::SendOutputChange(wire::OutputChange change) {
  if (socket_.valid()) {
    if (changed_.empty()) {
      // A timer that is due runs after all events that the loop has received
      // together. The end of a command often comes with that of its output.
      changes_timer_ = Timer(loop_, absl::ZeroDuration(), [this] { Flush(); });
    }
    std::string id = change.execution_id();
    changed_.insert_or_assign(std::move(id), std::move(change));
  }
}

absl::Status ControlSocket::SendNext() {
  if (!queue_.empty()) {
    std::vector<int> fds;
    for (const UniqueFd& fd : queue_.front().fds) {
      fds.push_back(fd.get());
    }
    RETURN_IF_ERROR(socket_.Send(queue_.front().message, fds));
    queue_.pop_front();
    return absl::OkStatus();
  }
  wire::FromSupervisor changes;
  for (const auto& [id, change] : changed_) {
    *changes.mutable_output_changed()->add_changes() = change;
  }
  RETURN_IF_ERROR(socket_.Send(changes));
  changed_.clear();
  return absl::OkStatus();
}

void ControlSocket::Flush() {
  if (!socket_.valid()) {
    return;
  }
  absl::Status sent;
  while (sent.ok() && !idle()) {
    sent = SendNext();
  }
  if (absl::IsResourceExhausted(sent)) {
    FlushLater();
  } else if (!sent.ok() && !absl::IsUnavailable(sent)) {
    LOG(WARNING) << "disconnects a server that cannot be sent to: "
                 << sent.ToString();
    Disconnect();
    disconnected_timer_ =
        Timer(loop_, absl::ZeroDuration(), [this] { disconnected_(); });
    return;
  }
  const bool wait = absl::IsUnavailable(sent);
  if (wait != waiting_) {
    waiting_ = wait;
    loop_->SetEvents(socket_.fd(), wait ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }
}

void ControlSocket::FlushLater() {
  if (!flush_timer_.pending()) {
    flush_timer_ = Timer(loop_, kFlushRetry, [this] { Flush(); });
  }
}

void ControlSocket::Disconnect() {
  if (socket_.valid()) {
    loop_->Unwatch(socket_.fd());
    socket_ = PacketSocket();
  }
  queue_.clear();
  changed_.clear();
}

}  // namespace sandbox
