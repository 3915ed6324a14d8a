// IP packets that a program sent to an address which stands for no name, and
// the answers that refuse them. Sources: RFC 791 and 792, RFC 8200 and 4443.

#ifndef SANDBOX_EGRESS_DIRECT_PACKET_H_
#define SANDBOX_EGRESS_DIRECT_PACKET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/egress/ip_address.h"

namespace egress {

// Says what a packet was meant to reach.
struct DirectPacket {
  IpAddress destination;
  // The destination's port; 0 for other protocols than TCP and UDP.
  uint16_t port = 0;
  ::corral::egress::v1::Event::Transport transport =
      ::corral::egress::v1::Event::TRANSPORT_UNSPECIFIED;
};

// Returns no value if `packet` is no packet of IPv4 or IPv6, if it is a later
// fragment of one, or if it belongs to ICMP or IGMP, which the kernel itself
// sends.
std::optional<DirectPacket> ParseDirectPacket(absl::string_view packet);

// Returns the ICMP message that reports to the sender of `packet` that this
// communication is prohibited. ParseDirectPacket() must have understood
// `packet`. connect(2) then fails with EHOSTUNREACH for IPv4, and with EACCES
// for IPv6. At most kMaxRefusal bytes.
std::string RefusalOf(absl::string_view packet);

inline constexpr size_t kMaxRefusal = 576;

}  // namespace egress

#endif  // SANDBOX_EGRESS_DIRECT_PACKET_H_
