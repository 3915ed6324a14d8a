#include "sandbox/kernel/netlink.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {
namespace {

struct Answer {
  nlmsghdr header;
  nlmsgerr error;
};

}  // namespace

std::string NetlinkAttribute(uint16_t type, absl::string_view value) {
  rtattr header = {};
  header.rta_type = type;
  header.rta_len = static_cast<uint16_t>(RTA_LENGTH(value.size()));
  std::string attribute = absl::StrCat(BytesOf(header), value);
  attribute.resize(RTA_SPACE(value.size()));
  return attribute;
}

int RequestNetlink(uint16_t type, uint16_t flags, absl::string_view message) {
  nlmsghdr header = {};
  header.nlmsg_len = static_cast<uint32_t>(NLMSG_LENGTH(message.size()));
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  const std::string request = absl::StrCat(BytesOf(header), message);
  const UniqueFd socket(
      ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  Answer answer = {};
  if (!socket.valid() ||
      ::send(socket.get(), request.data(), request.size(), 0) < 0 ||
      ::recv(socket.get(), &answer, sizeof(answer), MSG_TRUNC) <
          static_cast<ssize_t>(sizeof(answer.header) + sizeof(int))) {
    return errno;
  }
  return answer.header.nlmsg_type == NLMSG_ERROR ? -answer.error.error : EPROTO;
}

}  // namespace sandbox
