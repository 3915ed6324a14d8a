#include "sandbox/egress/inner_sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/egress/ip_address.h"
#include "sandbox/kernel/local_route.h"
#include "sandbox/kernel/tun_device.h"

namespace egress {
namespace {

using ::corral::egress::v1::Descriptor;
using sandbox::UniqueFd;

constexpr uint16_t kDnsPort = 53;
// The kernel lets further connections wait.
constexpr int kBacklog = 1024;
// The device of AddPacketDevice().
constexpr char kDevice[] = "refuse0";
constexpr char kDeviceV4[] = "198.19.255.254";
constexpr char kDeviceV6[] = "fdc0:11a1::ffff:fffe";

absl::StatusOr<UniqueFd> Bind(int type, const IpAddress& address,
                              uint16_t port) {
  UniqueFd socket(
      ::socket(address.family(), type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (socket.valid() && address.family() == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  }
  sockaddr_storage name;
  const socklen_t size = address.ToSocket(port, &name);
  if (!socket.valid() ||
      ::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), size) != 0 ||
      (type == SOCK_STREAM && ::listen(socket.get(), kBacklog) != 0)) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("listen on ", address.ToString(), ":", port));
  }
  return socket;
}

absl::Status Add(InnerSockets* inner, Descriptor::Kind kind, int type,
                 const IpAddress& address, uint16_t port) {
  ASSIGN_OR_RETURN(UniqueFd socket, Bind(type, address, port));
  Descriptor* const descriptor = inner->description.add_descriptors();
  descriptor->set_kind(kind);
  descriptor->set_port(port);
  inner->sockets.push_back(std::move(socket));
  return absl::OkStatus();
}

absl::Status AddListeners(InnerSockets* inner, const std::set<uint16_t>& ports,
                          bool ipv6) {
  for (const uint16_t port : ports) {
    RETURN_IF_ERROR(
        Add(inner, Descriptor::LISTENER, SOCK_STREAM, IpAddress(), port));
    if (ipv6) {
      RETURN_IF_ERROR(Add(inner, Descriptor::LISTENER, SOCK_STREAM,
                          IpAddress(in6addr_any), port));
    }
  }
  return absl::OkStatus();
}

absl::Status AddRoute(const char* address, uint8_t length) {
  ASSIGN_OR_RETURN(const IpAddress network, IpAddress::Parse(address));
  return sandbox::AddLocalRoute(network.family(), network.bytes().data(),
                                length);
}

absl::Status RouteTheRest(const char* device_address) {
  ASSIGN_OR_RETURN(const IpAddress address, IpAddress::Parse(device_address));
  return sandbox::RouteTheRestTo(
      kDevice, {reinterpret_cast<const char*>(address.bytes().data()),
                static_cast<size_t>(address.bits() / 8)});
}

}  // namespace

absl::StatusOr<InnerSockets> OpenInnerSockets(const std::set<uint16_t>& ports) {
  InnerSockets inner;
  RETURN_IF_ERROR(AddRoute("198.18.0.0", 15));
  const absl::Status ipv6 = AddRoute("fdc0:11a1::", 96);
  if (!ipv6.ok() && !absl::IsUnavailable(ipv6)) {
    return ipv6;
  }
  inner.description.set_ipv6(ipv6.ok());
  ASSIGN_OR_RETURN(const IpAddress dns, IpAddress::Parse("127.0.0.53"));
  RETURN_IF_ERROR(Add(&inner, Descriptor::DNS_UDP, SOCK_DGRAM, dns, kDnsPort));
  RETURN_IF_ERROR(Add(&inner, Descriptor::DNS_TCP, SOCK_STREAM, dns, kDnsPort));
  RETURN_IF_ERROR(AddListeners(&inner, ports, ipv6.ok()));
  return inner;
}

absl::Status AddPacketDevice(InnerSockets* inner) {
  ASSIGN_OR_RETURN(UniqueFd device, sandbox::MakeTunDevice(kDevice));
  RETURN_IF_ERROR(RouteTheRest(kDeviceV4));
  if (inner->description.ipv6()) {
    RETURN_IF_ERROR(RouteTheRest(kDeviceV6));
  }
  inner->description.add_descriptors()->set_kind(Descriptor::PACKETS);
  inner->sockets.push_back(std::move(device));
  return absl::OkStatus();
}

absl::StatusOr<InnerSockets> OpenListeners(const std::set<uint16_t>& ports,
                                           bool ipv6) {
  InnerSockets inner;
  RETURN_IF_ERROR(AddListeners(&inner, ports, ipv6));
  return inner;
}

}  // namespace egress
