#include "sandbox/egress/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace egress {
namespace {

bool Bit(const IpAddress& address, int index) {
  return (address.bytes()[index / 8] >> (7 - index % 8) & 1) != 0;
}

absl::Status NotANetwork(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text.substr(0, 100),
      "': must be a network like 10.1.0.0/16 or fd00:1::/32, or an address"));
}

}  // namespace

IpAddress::IpAddress(const in_addr& v4) {
  std::memcpy(bytes_.data(), &v4, sizeof(v4));
}

IpAddress::IpAddress(const in6_addr& v6) : family_(AF_INET6) {
  std::memcpy(bytes_.data(), &v6, sizeof(v6));
}

absl::StatusOr<IpAddress> IpAddress::Parse(const std::string& text) {
  in_addr v4;
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    return IpAddress(v4);
  }
  in6_addr v6;
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    return IpAddress(v6);
  }
  return absl::InvalidArgumentError(absl::StrCat("'", text, "': no address"));
}

IpAddress IpAddress::Of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    return IpAddress(
        reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr);
  }
  return IpAddress(reinterpret_cast<const sockaddr_in*>(&address)->sin_addr);
}

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(family_, bytes_.data(), text, sizeof(text));
  return text;
}

socklen_t IpAddress::ToSocket(uint16_t port, sockaddr_storage* storage) const {
  *storage = {};
  storage->ss_family = static_cast<sa_family_t>(family_);
  if (family_ == AF_INET6) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(storage);
    v6->sin6_port = htons(port);
    std::memcpy(&v6->sin6_addr, bytes_.data(), sizeof(v6->sin6_addr));
    return sizeof(*v6);
  }
  auto* v4 = reinterpret_cast<sockaddr_in*>(storage);
  v4->sin_port = htons(port);
  std::memcpy(&v4->sin_addr, bytes_.data(), sizeof(v4->sin_addr));
  return sizeof(*v4);
}

absl::StatusOr<IpNetwork> IpNetwork::Parse(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '/');
  const absl::StatusOr<IpAddress> address = IpAddress::Parse(parts[0]);
  if (!address.ok() || parts.size() > 2) {
    return NotANetwork(text);
  }
  int length = address->bits();
  if (parts.size() == 2 && (!absl::SimpleAtoi(parts[1], &length) ||
                            length < 0 || length > address->bits())) {
    return NotANetwork(text);
  }
  for (int i = length; i < address->bits(); ++i) {
    if (Bit(*address, i)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "': bits beyond the length are set"));
    }
  }
  return IpNetwork(*address, length);
}

bool IpNetwork::Contains(const IpAddress& address) const {
  if (address.family() != address_.family()) {
    return false;
  }
  for (int i = 0; i < length_; ++i) {
    if (Bit(address, i) != Bit(address_, i)) {
      return false;
    }
  }
  return true;
}

}  // namespace egress
