// Routes that make a whole network an address of this host.

#ifndef SANDBOX_KERNEL_LOCAL_ROUTE_H_
#define SANDBOX_KERNEL_LOCAL_ROUTE_H_

#include <cstdint>

#include "absl/status/status.h"

namespace sandbox {

// Adds a route of type "local" to the loopback interface of the present network
// namespace, as `ip route add local ADDRESS/LENGTH dev lo` does: every address
// of the network then reaches the sockets of the namespace. `family` is AF_INET
// or AF_INET6, `address` in network order. Fails with Unavailable if the
// namespace has no IPv6. Source: rtnetlink(7).
absl::Status AddLocalRoute(int family, const uint8_t* address,
                           uint8_t prefix_length);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_LOCAL_ROUTE_H_
