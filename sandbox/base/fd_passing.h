// Packets with descriptors (SCM_RIGHTS) on a SOCK_SEQPACKET socket.

#ifndef SANDBOX_BASE_FD_PASSING_H_
#define SANDBOX_BASE_FD_PASSING_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// The most descriptors that one packet carries.
inline constexpr size_t kMaxPassedFds = 16;

struct ReceivedPacket {
  // The errno of recvmsg(2); 0 if a packet came, or if the peer is gone.
  int error = 0;
  // The bytes of the packet; 0 for an empty packet, and when the peer is gone.
  size_t size = 0;
  // Close-on-exec.
  std::vector<UniqueFd> fds;
  // The packet had more bytes than there was room for.
  bool bytes_lost = false;
  // It had more descriptors than kMaxPassedFds, or than this process may have.
  bool fds_lost = false;
};

// Sends one packet with `fds`, at most kMaxPassedFds. `flags` are those of
// sendmsg(2). Returns 0, or its errno.
int SendPacket(int socket, const void* data, size_t size,
               const std::vector<int>& fds, int flags);

// Receives one packet. `flags` are those of recvmsg(2).
ReceivedPacket ReceivePacket(int socket, void* data, size_t size, int flags);

// Send and receive one packet on a blocking socket.
absl::Status SendWithFds(int socket, const void* data, size_t size,
                         const std::vector<int>& fds);
absl::StatusOr<ReceivedPacket> ReceiveWithFds(int socket, void* data,
                                              size_t size);

}  // namespace sandbox

#endif  // SANDBOX_BASE_FD_PASSING_H_
