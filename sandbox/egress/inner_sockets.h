// The sockets of the way out that belong to the sandbox's network namespace.

#ifndef SANDBOX_EGRESS_INNER_SOCKETS_H_
#define SANDBOX_EGRESS_INNER_SOCKETS_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/base/unique_fd.h"

namespace egress {

struct InnerSockets {
  // Describes `sockets`: name service and listeners.
  ::corral::egress::v1::Inner description;
  std::vector<sandbox::UniqueFd> sockets;
};

// Makes the inner networks (see NameTable) local to the network namespace of
// the caller, and opens the sockets there: DNS at 127.0.0.53, and listeners for
// `ports`. Needs CAP_NET_ADMIN and CAP_NET_BIND_SERVICE in the namespace, whose
// loopback interface must be up.
absl::StatusOr<InnerSockets> OpenInnerSockets(const std::set<uint16_t>& ports);

// Adds a TUN device to them that takes the packets to all other addresses. It
// has an address of either inner network that stands for no name. For the
// present network namespace. Any failure leaves `inner` and the routes as they
// were, and such packets without a route. Needs CAP_NET_ADMIN there.
absl::Status AddPacketDevice(InnerSockets* inner);

// Opens the listeners for further ports in the present network namespace.
absl::StatusOr<InnerSockets> OpenListeners(const std::set<uint16_t>& ports,
                                           bool ipv6);

// The content of /etc/resolv.conf in the sandbox.
inline constexpr char kInnerResolvConf[] =
    "nameserver 127.0.0.53\noptions timeout:5 attempts:2\n";

}  // namespace egress

#endif  // SANDBOX_EGRESS_INNER_SOCKETS_H_
