#include "sandbox/kernel/local_route.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "sandbox/kernel/netlink.h"

namespace sandbox {

absl::Status AddLocalRoute(int family, const uint8_t* address,
                           uint8_t prefix_length) {
  rtmsg route = {};
  route.rtm_family = static_cast<unsigned char>(family);
  route.rtm_dst_len = prefix_length;
  route.rtm_table = RT_TABLE_LOCAL;
  route.rtm_protocol = RTPROT_BOOT;
  route.rtm_scope = RT_SCOPE_HOST;
  route.rtm_type = RTN_LOCAL;
  const unsigned loopback = ::if_nametoindex("lo");
  const absl::string_view network(
      reinterpret_cast<const char*>(address),
      family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr));
  const int error = RequestNetlink(
      RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL,
      absl::StrCat(BytesOf(route), NetlinkAttribute(RTA_DST, network),
                   NetlinkAttribute(RTA_OIF, BytesOf(loopback))));
  if (error == 0) {
    return absl::OkStatus();
  }
  if (family == AF_INET6 &&
      (error == EOPNOTSUPP || error == EAFNOSUPPORT || error == EACCES)) {
    return absl::UnavailableError("the network namespace has no IPv6");
  }
  return absl::ErrnoToStatus(error, "add a local route");
}

}  // namespace sandbox
