#include "sandbox/egress/start_packet.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/status_macros.h"

namespace egress {

absl::Status SendStart(int socket, const ::corral::egress::v1::Start& message,
                       const std::vector<int>& descriptors) {
  std::string bytes = message.SerializeAsString();
  if (bytes.size() > kMaxStart) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a policy of ", bytes.size(), " bytes; ", kMaxStart, " allowed"));
  }
  size_t sent = 0;
  do {
    const size_t count =
        std::min(descriptors.size() - sent, sandbox::kMaxPassedFds);
    const auto begin = descriptors.begin() + static_cast<ptrdiff_t>(sent);
    RETURN_IF_ERROR(
        sandbox::SendWithFds(socket, bytes.data(), bytes.size(),
                             {begin, begin + static_cast<ptrdiff_t>(count)}));
    sent += count;
    bytes = "+";
  } while (sent < descriptors.size());
  return absl::OkStatus();
}

absl::StatusOr<StartPacket> ReceiveStart(int socket) {
  std::string bytes(kMaxStart, '\0');
  ASSIGN_OR_RETURN(sandbox::ReceivedPacket packet,
                   sandbox::ReceiveWithFds(socket, bytes.data(), bytes.size()));
  StartPacket start;
  if (packet.size == 0 || !start.message.ParseFromArray(
                              bytes.data(), static_cast<int>(packet.size))) {
    return absl::InvalidArgumentError("the first packet is no start");
  }
  const auto count = static_cast<size_t>(start.message.descriptors_size());
  start.descriptors = std::move(packet.fds);
  while (start.descriptors.size() < count) {
    ASSIGN_OR_RETURN(
        packet, sandbox::ReceiveWithFds(socket, bytes.data(), bytes.size()));
    if (packet.fds.empty()) {
      break;
    }
    std::move(packet.fds.begin(), packet.fds.end(),
              std::back_inserter(start.descriptors));
  }
  if (start.descriptors.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        start.descriptors.size(), " descriptors came instead of ", count));
  }
  return start;
}

}  // namespace egress
