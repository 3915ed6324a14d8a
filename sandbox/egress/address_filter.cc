#include "sandbox/egress/address_filter.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>

#include "sandbox/base/unique_fd.h"

namespace egress {
namespace {

// IANA's registries of special-purpose addresses, and of multicast.
constexpr const char* kSpecial[] = {
    "0.0.0.0/8",      "10.0.0.0/8",     "100.64.0.0/10", "127.0.0.0/8",
    "168.63.129.16",  // Azure's host, which has secrets of the machine
    "169.254.0.0/16", "172.16.0.0/12",  "192.0.0.0/24",  "192.0.2.0/24",
    "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
    "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4",
    "2001::/23",  // Teredo among others
    "2001:db8::/32",
    "2002::/16",  // 6to4
    "3fff::/20",
};

// No other address of IPv6 is public, mapped addresses and NAT64 included.
constexpr const char* kPublicIpv6 = "2000::/3";

IpNetwork Known(const char* text) { return *IpNetwork::Parse(text); }

bool IsIn(const std::vector<IpNetwork>& networks, const IpAddress& address) {
  return std::any_of(
      networks.begin(), networks.end(),
      [&](const IpNetwork& network) { return network.Contains(address); });
}

bool IsPublic(const IpAddress& address) {
  static const auto* const special = [] {
    auto* networks = new std::vector<IpNetwork>;
    for (const char* text : kSpecial) {
      networks->push_back(Known(text));
    }
    return networks;
  }();
  static const IpNetwork ipv6 = Known(kPublicIpv6);
  return (address.family() == AF_INET || ipv6.Contains(address)) &&
         !IsIn(*special, address);
}

// The kernel reaches its own addresses from the same address.
bool IsOfThisHost(const IpAddress& address) {
  const sandbox::UniqueFd socket(
      ::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage target;
  const socklen_t size = address.ToSocket(1, &target);
  sockaddr_storage source = {};
  socklen_t source_size = sizeof(source);
  // connect(2) sends nothing for UDP. It fails without a route, and then the
  // proxy could not connect either.
  return ::connect(socket.get(), reinterpret_cast<sockaddr*>(&target), size) ==
             0 &&
         ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&source),
                       &source_size) == 0 &&
         IpAddress::Of(source) == address;
}

}  // namespace

bool AddressFilter::Allows(const IpAddress& address) const {
  return IsIn(allowed_, address) ||
         (IsPublic(address) && !IsOfThisHost(address));
}

}  // namespace egress
