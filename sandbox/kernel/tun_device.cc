#include "sandbox/kernel/tun_device.h"

#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/kernel/netlink.h"

namespace sandbox {
namespace {

absl::Status Request(uint16_t type, uint16_t flags, const std::string& message,
                     absl::string_view what) {
  const int error = RequestNetlink(type, flags, message);
  return error == 0 ? absl::OkStatus() : absl::ErrnoToStatus(error, what);
}

// Turns off automatic addresses of IPv6. The kernel then sends nothing of its
// own: it neither looks for routers nor reports groups.
std::string WithoutAutomaticAddresses() {
  const uint8_t none = IN6_ADDR_GEN_MODE_NONE;
  return NetlinkAttribute(
      IFLA_AF_SPEC,
      NetlinkAttribute(
          AF_INET6, NetlinkAttribute(IFLA_INET6_ADDR_GEN_MODE, BytesOf(none))));
}

absl::Status BringUp(const std::string& name) {
  ifinfomsg link = {};
  link.ifi_index = static_cast<int>(::if_nametoindex(name.c_str()));
  const std::string quiet =
      absl::StrCat(BytesOf(link), WithoutAutomaticAddresses());
  const int error = RequestNetlink(RTM_NEWLINK, 0, quiet);
  if (error != 0 && error != EAFNOSUPPORT) {
    return absl::ErrnoToStatus(error, "turn automatic addresses off");
  }
  link.ifi_flags = IFF_UP;
  link.ifi_change = IFF_UP;
  return Request(RTM_NEWLINK, 0, std::string(BytesOf(link)), "bring it up");
}

}  // namespace

absl::StatusOr<UniqueFd> MakeTunDevice(const std::string& name) {
  UniqueFd device(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!device.valid()) {
    return absl::UnavailableError(
        absl::ErrnoToStatus(errno, "open /dev/net/tun").message());
  }
  ifreq request = {};
  std::copy_n(name.data(), std::min(name.size(), size_t{IFNAMSIZ - 1}),
              request.ifr_name);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(device.get(), TUNSETIFF, &request) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("make the device ", name));
  }
  RETURN_IF_ERROR(BringUp(name));
  return device;
}

absl::Status RouteTheRestTo(const std::string& name,
                            absl::string_view address) {
  const bool v4 = address.size() == sizeof(in_addr);
  const unsigned index = ::if_nametoindex(name.c_str());
  ifaddrmsg own = {};
  own.ifa_family = v4 ? AF_INET : AF_INET6;
  own.ifa_prefixlen = static_cast<uint8_t>(8 * address.size());
  // IFA_F_NODAD: no other node can have the address, so it can be used at once,
  // without duplicate address detection.
  own.ifa_flags = IFA_F_NODAD;
  own.ifa_index = index;
  RETURN_IF_ERROR(
      Request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL,
              absl::StrCat(BytesOf(own), NetlinkAttribute(IFA_LOCAL, address)),
              "add an address"));
  rtmsg route = {};
  route.rtm_family = own.ifa_family;
  route.rtm_type = RTN_UNICAST;
  // The largest metric, so that every other route wins.
  const uint32_t last = std::numeric_limits<uint32_t>::max();
  return Request(
      RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL,
      absl::StrCat(BytesOf(route), NetlinkAttribute(RTA_OIF, BytesOf(index)),
                   NetlinkAttribute(RTA_PRIORITY, BytesOf(last))),
      "add a default route");
}

}  // namespace sandbox
