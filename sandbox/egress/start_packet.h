// The first message to a corral-egress, with its descriptors.

#ifndef SANDBOX_EGRESS_START_PACKET_H_
#define SANDBOX_EGRESS_START_PACKET_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/base/unique_fd.h"

namespace egress {

inline constexpr size_t kMaxStart = 128 << 10;

struct StartPacket {
  ::corral::egress::v1::Start message;
  // One for each descriptor that the message describes.
  std::vector<sandbox::UniqueFd> descriptors;
};

// Sends `message`, which describes `descriptors`, on a SOCK_SEQPACKET socket.
// InvalidArgument: the message is larger than kMaxStart.
absl::Status SendStart(int socket, const ::corral::egress::v1::Start& message,
                       const std::vector<int>& descriptors);

// Waits for a message of SendStart().
absl::StatusOr<StartPacket> ReceiveStart(int socket);

}  // namespace egress

#endif  // SANDBOX_EGRESS_START_PACKET_H_
