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
#include <memory>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

constexpr size_t kMaxPacket = 64 << 10;
// Both ends are Corral's; this only bounds what a fault can cost. The largest
// is a snapshot: as many executions as a sandbox may have, with 1 KiB for each.
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
  if (::fcntl(memfd, F_GET_SEALS) < kSeals || ::fstat(memfd, &status) != 0 ||
      status.st_size > kMaxMessage) {
    return absl::InvalidArgumentError(
        "message in a descriptor that is no sealed memfd");
  }
  std::string data(static_cast<size_t>(status.st_size), '\0');
  if (::pread(memfd, data.data(), data.size(), 0) !=
      static_cast<ssize_t>(data.size())) {
    return absl::ErrnoToStatus(errno, "read(message memfd)");
  }
  return data;
}

// The error says that the peer is gone, not that the call failed.
bool IsOfThePeer(int error) {
  return error == EPIPE || error == ECONNRESET || error == ENOTCONN ||
         error == EBADF || error == ENOTSOCK;
}

absl::Status SendPacket(int socket, const char* data, size_t size, int fd) {
  iovec vector = {const_cast<char*>(data), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  if (error == EMSGSIZE || IsOfThePeer(error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("send: ", std::strerror(error)));
  }
  if (error == EAGAIN) {
    return absl::UnavailableError("the peer does not read");
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("send: ", std::strerror(error)));
}

// Owns what came with a packet; keeps the first.
UniqueFd TakeFds(msghdr& message) {
  UniqueFd first;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      UniqueFd owned(fd);
      if (!first.valid()) {
        first = std::move(owned);
      }
    }
  }
  return first;
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
  // Through the descriptor, since sun_path holds 107 bytes and a state
  // directory may be deeper.
  const std::string path =
      absl::StrCat("/proc/self/fd/", parent.get(), "/", name);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
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
  // While it holds its end, the pid is its own.
  pollfd end = {fd_.get(), 0, 0};
  if (!pidfd.valid() || ::poll(&end, 1, 0) != 0) {
    return absl::UnavailableError("the peer has ended");
  }
  return pidfd;
}

absl::Status PacketSocket::Send(const google::protobuf::MessageLite& message) {
  const std::string data = message.SerializeAsString();
  if (data.size() <= kMaxPacket) {
    return SendPacket(fd_.get(), data.data(), data.size(), -1);
  }
  ASSIGN_OR_RETURN(UniqueFd memfd, ToMemfd(data));
  return SendPacket(fd_.get(), "", 0, memfd.get());
}

bool PacketSocket::MakeRoom() {
  char byte;
  iovec vector = {&byte, 1};
  msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  const ssize_t next =
      ::recvmsg(fd_.get(), &header, MSG_PEEK | MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
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
    google::protobuf::MessageLite* message) {
  if (!MakeRoom()) {
    return false;
  }
  buffer_.resize(kMaxPacket);
  iovec vector = {buffer_.data(), buffer_.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  const ssize_t got =
      ::recvmsg(fd_.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0 && IsOfThePeer(errno)) {
    return absl::FailedPreconditionError("the peer is gone");
  }
  if (got < 0) {
    return false;  // EAGAIN, or an error of the host: what is there stays there
  }
  UniqueFd memfd = TakeFds(header);
  if (got == 0 && !memfd.valid()) {
    // No message of ours is empty: this is the end.
    return absl::FailedPreconditionError("the peer is gone");
  }
  if (got == 0) {
    ASSIGN_OR_RETURN(const std::string data, FromMemfd(memfd.get()));
    memfd.Reset();
    reserve_.Reset(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
    if (!message->ParseFromString(data)) {
      return absl::InvalidArgumentError("a message that does not parse");
    }
    return true;
  }
  if (!message->ParseFromArray(buffer_.data(), static_cast<int>(got))) {
    return absl::InvalidArgumentError("a message that does not parse");
  }
  return true;
}

}  // namespace sandbox
