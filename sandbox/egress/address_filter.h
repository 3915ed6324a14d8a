// Decides to which addresses a name may lead.

#ifndef SANDBOX_EGRESS_ADDRESS_FILTER_H_
#define SANDBOX_EGRESS_ADDRESS_FILTER_H_

#include <utility>
#include <vector>

#include "sandbox/egress/ip_address.h"

namespace egress {

class AddressFilter {
 public:
  // `allowed`: further networks, which the operator allows.
  explicit AddressFilter(std::vector<IpNetwork> allowed)
      : allowed_(std::move(allowed)) {}

  // True for public unicast addresses that do not belong to the host, and for
  // the allowed networks. False for those that are private, shared (CGNAT),
  // loopback, link-local, multicast or reserved, that belong to a cloud's
  // metadata service, or that contain an IPv4 address (mapped, 6to4, NAT64,
  // Teredo). Sends nothing.
  bool Allows(const IpAddress& address) const;

 private:
  const std::vector<IpNetwork> allowed_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_ADDRESS_FILTER_H_
