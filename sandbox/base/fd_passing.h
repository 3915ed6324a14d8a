// Packets with descriptors, on a blocking SOCK_SEQPACKET socket.

#ifndef SANDBOX_BASE_FD_PASSING_H_
#define SANDBOX_BASE_FD_PASSING_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

struct ReceivedPacket {
  // 0: the peer is gone.
  size_t size = 0;
  std::vector<UniqueFd> fds;
};

// At most 16 descriptors.
absl::Status SendWithFds(int socket, const void* data, size_t size,
                         const std::vector<int>& fds);

absl::StatusOr<ReceivedPacket> ReceiveWithFds(int socket, void* data,
                                              size_t size);

}  // namespace sandbox

#endif  // SANDBOX_BASE_FD_PASSING_H_
