// Messages with any number of descriptors on a SOCK_SEQPACKET socket.
//
// The first packet is a u32, the number of descriptors, and the message. It
// carries the first descriptors; packets of one byte carry the others.

#ifndef SANDBOX_EGRESS_PACKETS_H_
#define SANDBOX_EGRESS_PACKETS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"
#include "sandbox/base/unique_fd.h"

namespace egress {

inline constexpr size_t kMaxMessage = 128 << 10;
// Start has most of them: a table, the name service, listeners for 16 ports and
// two families, a device, and the files of 64 services.
inline constexpr size_t kMaxDescriptors = 128;

// Sends on a blocking socket. Fails with InvalidArgument if the message is
// larger than kMaxMessage, or has more than kMaxDescriptors.
absl::Status SendMessage(int socket,
                         const google::protobuf::MessageLite& message,
                         const std::vector<int>& descriptors);

// Waits for a message of SendMessage(). InvalidArgument: something else came.
absl::StatusOr<std::vector<sandbox::UniqueFd>> ReceiveMessage(
    int socket, google::protobuf::MessageLite* message);

}  // namespace egress

#endif  // SANDBOX_EGRESS_PACKETS_H_
