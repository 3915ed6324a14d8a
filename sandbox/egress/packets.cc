#include "sandbox/egress/packets.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/status_macros.h"

namespace egress {

using sandbox::UniqueFd;

absl::Status SendMessage(int socket,
                         const google::protobuf::MessageLite& message,
                         const std::vector<int>& descriptors) {
  const auto total = static_cast<uint32_t>(descriptors.size());
  if (total > kMaxDescriptors) {
    return absl::InvalidArgumentError(
        absl::StrCat(total, " descriptors; ", kMaxDescriptors, " allowed"));
  }
  std::string bytes(reinterpret_cast<const char*>(&total), sizeof(total));
  message.AppendToString(&bytes);
  if (bytes.size() > kMaxMessage) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a message of ", bytes.size(), " bytes; ", kMaxMessage, " allowed"));
  }
  auto next = descriptors.begin();
  do {
    const auto end =
        next + std::min<ptrdiff_t>(descriptors.end() - next,
                                   ptrdiff_t{sandbox::kMaxPassedFds});
    RETURN_IF_ERROR(
        sandbox::SendWithFds(socket, bytes.data(), bytes.size(), {next, end}));
    next = end;
    bytes.assign(1, '+');
  } while (next != descriptors.end());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<UniqueFd>> ReceiveMessage(
    int socket, google::protobuf::MessageLite* message) {
  std::string bytes(kMaxMessage, '\0');
  ASSIGN_OR_RETURN(sandbox::ReceivedPacket packet,
                   sandbox::ReceiveWithFds(socket, bytes.data(), bytes.size()));
  uint32_t total = 0;
  if (packet.bytes_lost || packet.size < sizeof(total) ||
      !message->ParseFromArray(bytes.data() + sizeof(total),
                               static_cast<int>(packet.size - sizeof(total)))) {
    return absl::InvalidArgumentError("a packet is no message");
  }
  std::memcpy(&total, bytes.data(), sizeof(total));
  if (total > kMaxDescriptors) {
    return absl::InvalidArgumentError("a message with too many descriptors");
  }
  std::vector<UniqueFd> descriptors = std::move(packet.fds);
  while (descriptors.size() < total) {
    ASSIGN_OR_RETURN(
        packet, sandbox::ReceiveWithFds(socket, bytes.data(), bytes.size()));
    if (packet.fds.empty()) {
      return absl::InvalidArgumentError("a descriptor is missing");
    }
    std::move(packet.fds.begin(), packet.fds.end(),
              std::back_inserter(descriptors));
  }
  if (descriptors.size() > total) {
    return absl::InvalidArgumentError("a descriptor that was not announced");
  }
  return descriptors;
}

}  // namespace egress
