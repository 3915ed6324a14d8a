#include "sandbox/base/fd_passing.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sandbox {
namespace {

constexpr size_t kControlSize = CMSG_SPACE(kMaxPassedFds * sizeof(int));

std::vector<UniqueFd> TakeFds(msghdr& message) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

int SendPacket(int socket, const void* data, size_t size,
               const std::vector<int>& fds, int flags) {
  iovec vector = {const_cast<void*>(data), size};
  alignas(cmsghdr) char control[kControlSize] = {};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | flags) < 0 ? errno : 0;
}

ReceivedPacket ReceivePacket(int socket, void* data, size_t size, int flags) {
  iovec vector = {data, size};
  alignas(cmsghdr) char control[kControlSize];
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
  } while (got < 0 && errno == EINTR);
  ReceivedPacket packet;
  if (got < 0) {
    packet.error = errno;
    return packet;
  }
  packet.size = static_cast<size_t>(got);
  packet.fds = TakeFds(message);
  packet.bytes_lost = (message.msg_flags & MSG_TRUNC) != 0;
  packet.fds_lost = (message.msg_flags & MSG_CTRUNC) != 0;
  return packet;
}

absl::Status SendWithFds(int socket, const void* data, size_t size,
                         const std::vector<int>& fds) {
  const int error = SendPacket(socket, data, size, fds, 0);
  return error == 0 ? absl::OkStatus() : absl::ErrnoToStatus(error, "send");
}

absl::StatusOr<ReceivedPacket> ReceiveWithFds(int socket, void* data,
                                              size_t size) {
  ReceivedPacket packet = ReceivePacket(socket, data, size, 0);
  if (packet.error != 0) {
    return absl::ErrnoToStatus(packet.error, "receive");
  }
  return packet;
}

}  // namespace sandbox
