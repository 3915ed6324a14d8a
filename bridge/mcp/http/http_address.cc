#include "bridge/mcp/http/http_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace bridge {
namespace {

constexpr uint32_t kMaxPort = 65535;
constexpr uint32_t kLoopbackNetwork = 127;  // the first byte

absl::Status Malformed() {
  return absl::InvalidArgumentError(
      "allowed is PORT or ADDRESS:PORT, with an IPv4 address, an IPv6 address "
      "in brackets, or localhost");
}

template <typename Address>
const Address& As(const sockaddr_storage& address) {
  return *reinterpret_cast<const Address*>(&address);
}

}  // namespace

absl::StatusOr<HttpAddress> HttpAddress::Parse(absl::string_view text) {
  const size_t colon = text.rfind(':');
  absl::string_view host =
      colon == text.npos ? "127.0.0.1" : text.substr(0, colon);
  uint32_t port = 0;
  if (!absl::SimpleAtoi(colon == text.npos ? text : text.substr(colon + 1),
                        &port) ||
      port > kMaxPort) {
    return Malformed();
  }
  sockaddr_storage address = {};
  if (absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]")) {
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(port));
    return ::inet_pton(AF_INET6, std::string(host).c_str(), &v6->sin6_addr) == 1
               ? absl::StatusOr<HttpAddress>(HttpAddress(address))
               : Malformed();
  }
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address);
  v4->sin_family = AF_INET;
  v4->sin_port = htons(static_cast<uint16_t>(port));
  const std::string name(host == "localhost" ? "127.0.0.1" : host);
  return ::inet_pton(AF_INET, name.c_str(), &v4->sin_addr) == 1
             ? absl::StatusOr<HttpAddress>(HttpAddress(address))
             : Malformed();
}

absl::StatusOr<HttpAddress> HttpAddress::Of(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) !=
      0) {
    return absl::ErrnoToStatus(errno, "getsockname");
  }
  return HttpAddress(address);
}

bool HttpAddress::IsLoopback() const {
  if (address_.ss_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&As<sockaddr_in6>(address_).sin6_addr);
  }
  return ntohl(As<sockaddr_in>(address_).sin_addr.s_addr) >> 24 ==
         kLoopbackNetwork;
}

std::string HttpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = {};
  if (address_.ss_family == AF_INET6) {
    const auto& v6 = As<sockaddr_in6>(address_);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
    return absl::StrCat("[", text, "]:", ntohs(v6.sin6_port));
  }
  const auto& v4 = As<sockaddr_in>(address_);
  ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
  return absl::StrCat(text, ":", ntohs(v4.sin_port));
}

socklen_t HttpAddress::size() const {
  return address_.ss_family == AF_INET6 ? sizeof(sockaddr_in6)
                                        : sizeof(sockaddr_in);
}

}  // namespace bridge
