#include "sandbox/kernel/local_route.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "sandbox/base/unique_fd.h"

namespace sandbox {
namespace {

struct Request {
  nlmsghdr header;
  rtmsg route;
  // Room for an address and an interface.
  alignas(NLMSG_ALIGNTO) char attributes[64];
};

struct Answer {
  nlmsghdr header;
  nlmsgerr error;
};

void AddAttribute(Request& request, unsigned short type, const void* data,
                  size_t size) {
  auto* const attribute =
      reinterpret_cast<rtattr*>(reinterpret_cast<char*>(&request) +
                                NLMSG_ALIGN(request.header.nlmsg_len));
  attribute->rta_type = type;
  attribute->rta_len = static_cast<unsigned short>(RTA_LENGTH(size));
  std::copy_n(static_cast<const char*>(data), size,
              static_cast<char*>(RTA_DATA(attribute)));
  request.header.nlmsg_len = static_cast<uint32_t>(
      NLMSG_ALIGN(request.header.nlmsg_len) + RTA_ALIGN(attribute->rta_len));
}

// Returns 0 or an errno.
int Perform(const Request& request) {
  const UniqueFd socket(
      ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  Answer answer = {};
  if (!socket.valid() ||
      ::send(socket.get(), &request, request.header.nlmsg_len, 0) < 0 ||
      ::recv(socket.get(), &answer, sizeof(answer), MSG_TRUNC) <
          static_cast<ssize_t>(sizeof(answer.header) + sizeof(int))) {
    return errno;
  }
  return answer.header.nlmsg_type == NLMSG_ERROR ? -answer.error.error : EPROTO;
}

}  // namespace

absl::Status AddLocalRoute(int family, const uint8_t* address,
                           uint8_t prefix_length) {
  Request request = {};
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof(rtmsg));
  request.header.nlmsg_type = RTM_NEWROUTE;
  request.header.nlmsg_flags =
      NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
  request.route.rtm_family = static_cast<unsigned char>(family);
  request.route.rtm_dst_len = prefix_length;
  request.route.rtm_table = RT_TABLE_LOCAL;
  request.route.rtm_protocol = RTPROT_BOOT;
  request.route.rtm_scope = RT_SCOPE_HOST;
  request.route.rtm_type = RTN_LOCAL;
  AddAttribute(request, RTA_DST, address,
               family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr));
  const unsigned loopback = ::if_nametoindex("lo");
  AddAttribute(request, RTA_OIF, &loopback, sizeof(loopback));
  const int error = Perform(request);
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
