// Addresses and networks of IPv4 and IPv6.

#ifndef SANDBOX_EGRESS_IP_ADDRESS_H_
#define SANDBOX_EGRESS_IP_ADDRESS_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace egress {

class IpAddress {
 public:
  // 0.0.0.0
  IpAddress() = default;
  explicit IpAddress(const in_addr& v4);
  explicit IpAddress(const in6_addr& v6);

  static absl::StatusOr<IpAddress> Parse(const std::string& text);
  // `address` is AF_INET or AF_INET6.
  static IpAddress Of(const sockaddr_storage& address);

  int family() const { return family_; }
  // The address in network order: the first 4 bytes for AF_INET, else all 16.
  const std::array<uint8_t, 16>& bytes() const { return bytes_; }
  int bits() const { return family_ == AF_INET ? 32 : 128; }

  std::string ToString() const;
  // Fills `storage`, and returns the size for connect(2).
  socklen_t ToSocket(uint16_t port, sockaddr_storage* storage) const;

  bool operator==(const IpAddress& other) const {
    return family_ == other.family_ && bytes_ == other.bytes_;
  }

 private:
  int family_ = AF_INET;
  std::array<uint8_t, 16> bytes_ = {};
};

class IpNetwork {
 public:
  // Parses "10.0.0.0/8", "fd00::/8", or an address, which stands for itself
  // alone. Fails with InvalidArgument for anything else, and if bits beyond the
  // length are set.
  static absl::StatusOr<IpNetwork> Parse(absl::string_view text);

  bool Contains(const IpAddress& address) const;

 private:
  IpNetwork(const IpAddress& address, int length)
      : address_(address), length_(length) {}

  IpAddress address_;
  int length_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_IP_ADDRESS_H_
