#include "sandbox/base/packet_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unix_address.h"

namespace sandbox {
namespace {

constexpr size_t kMaxPacket = 64 << 10;
// Bounds what a fault can cost; both ends are Corral's. The largest message is
// a snapshot: as many executions as a sandbox may have, with 1 KiB for each.
constexpr off_t kMaxMessage = 128 << 20;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

absl::StatusOr<UniqueFd> ToMemfd(const std::string& data) {
  UniqueFd memfd(
      ::memfd_create("corral-message", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd.valid() ||
      ::write(memfd.get(), data.data(), data.size()) !=
          static_cast<ssize_t>(data.size()) ||
      ::fcntl(memfd.get(), F_ADD_SEALS, kSeals) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("memfd for a large message: ", std::strerror(errno)));
  }
  return memfd;
}

absl::StatusOr<std::string> FromMemfd(int memfd) {
  struct stat status;
  // A sealed memfd cannot change or block while it is read.
  const int seals = ::fcntl(memfd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(memfd, &status) != 0 ||
      status.st_size > kMaxMessage) {
    return absl::InvalidArgumentError(
        "a large message came in a descriptor that is no sealed memfd of at "
        "most 128 MiB");
  }
  std::string data(static_cast<size_t>(status.st_size), '\0');
  if (::pread(memfd, data.data(), data.size(), 0) !=
      static_cast<ssize_t>(data.size())) {
    return absl::ErrnoToStatus(errno, "read(message memfd)");
  }
  return data;
}

bool MeansThatThePeerIsGone(int error) {
  return error == EPIPE || error == ECONNRESET || error == ENOTCONN ||
         error == EBADF || error == ENOTSOCK;
}

absl::Status Send(int socket, const std::string& data,
                  const std::vector<int>& fds) {
  const int error =
      SendPacket(socket, data.data(), data.size(), fds, MSG_DONTWAIT);
  if (error == 0) {
    return absl::OkStatus();
  }
  if (error == EMSGSIZE || MeansThatThePeerIsGone(error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("send: ", std::strerror(error)));
  }
  if (error == EAGAIN) {
    return absl::UnavailableError("the peer does not read");
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("send: ", std::strerror(error)));
}

}  // namespace

PacketSocket::PacketSocket(UniqueFd fd)
    : fd_(std::move(fd)), reserve_(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)) {}

absl::StatusOr<std::pair<PacketSocket, PacketSocket>> PacketSocket::Pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   fds) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  return std::make_pair(PacketSocket(UniqueFd(fds[0])),
                        PacketSocket(UniqueFd(fds[1])));
}

absl::StatusOr<PacketSocket> PacketSocket::Connect(const std::string& directory,
                                                   const std::string& name) {
  UniqueFd parent(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", directory));
  }
  UniqueFd fd(
      ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) {
    return absl::ErrnoToStatus(errno, "socket(AF_UNIX)");
  }
  const sockaddr_un address = UnixAddress(parent.get(), name);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0) {
    if (errno == ECONNREFUSED || errno == ENOENT) {
      return absl::NotFoundError(
          absl::StrCat("nobody listens on ", directory, "/", name));
    }
    return absl::ErrnoToStatus(errno, absl::StrCat("connect ", directory));
  }
  return PacketSocket(std::move(fd));
}

absl::StatusOr<UniqueFd> PacketSocket::PeerProcess() const {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return absl::ErrnoToStatus(errno, "getsockopt(SO_PEERCRED)");
  }
  if (peer.pid == 0) {
    return UniqueFd();
  }
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
  if (!pidfd.valid() && errno != ESRCH) {
    return absl::ErrnoToStatus(errno, "pidfd_open");
  }
  // The pid is the peer's own while the peer holds its end of the connection.
  pollfd end = {fd_.get(), 0, 0};
  if (!pidfd.valid() || ::poll(&end, 1, 0) != 0) {
    return absl::UnavailableError("the peer has ended");
  }
  return pidfd;
}

absl::Status PacketSocket::Send(const google::protobuf::MessageLite& message,
                                const std::vector<int>& fds) {
  const std::string data = message.SerializeAsString();
  // An empty packet is the end of the stream for the receiver.
  if (!data.empty() && data.size() <= kMaxPacket) {
    return sandbox::Send(fd_.get(), data, fds);
  }
  ASSIGN_OR_RETURN(UniqueFd memfd, ToMemfd(data));
  return sandbox::Send(fd_.get(), "", {memfd.get()});
}

bool PacketSocket::MakeRoom() {
  char byte;
  iovec vector = {&byte, 1};
  msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  const ssize_t next =
      ::recvmsg(fd_.get(), &header, MSG_PEEK | MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (next < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  if (next != 0 || (header.msg_flags & MSG_CTRUNC) == 0) {
    return true;
  }
  if (!reserve_.valid()) {
    reserve_.Reset(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  }
  const bool room = reserve_.valid();
  reserve_.Reset();
  return room;
}

absl::StatusOr<bool> PacketSocket::Receive(
    google::protobuf::MessageLite* message, std::vector<UniqueFd>* fds) {
  if (!MakeRoom()) {
    return false;
  }
  if (buffer_ == nullptr) {
    buffer_.reset(new char[kMaxPacket]);
  }
  ReceivedPacket packet =
      ReceivePacket(fd_.get(), buffer_.get(), kMaxPacket, MSG_DONTWAIT);
  if (packet.error != 0 && !MeansThatThePeerIsGone(packet.error)) {
    // EAGAIN, or an error of this host: a packet that is there stays there.
    return false;
  }
  if (packet.error != 0 || (packet.size == 0 && packet.fds.empty())) {
    // No message is sent as an empty packet alone: this is the end of stream.
    return absl::FailedPreconditionError("the peer is gone");
  }
  if (packet.size == 0) {
    ASSIGN_OR_RETURN(const std::string data,
                     FromMemfd(packet.fds.front().get()));
    packet.fds.clear();
    reserve_.Reset(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
    if (!message->ParseFromString(data)) {
      return absl::InvalidArgumentError("a message that does not parse");
    }
    return true;
  }
  if (!message->ParseFromArray(buffer_.get(), static_cast<int>(packet.size))) {
    return absl::InvalidArgumentError("a message that does not parse");
  }
  if (fds != nullptr) {
    *fds = std::move(packet.fds);
  }
  return true;
}

}  // namespace sandbox
