#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/attack/attack_test.h"

namespace tests {
namespace {

TEST_F(AttackTest, MakesOnlySocketsOfTheAllowedFamilies) {
  Create();
  // AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
  EXPECT_EQ(Attack("families"), "socket: 1 2 10 16\nsocketpair: 1\n");
  EXPECT_EQ(Attack("sockets"),
            "vsock: EPERM\n"
            "vsock, high bits: EPERM\n"
            "alg: EPERM\n"
            "packet: EPERM\n"
            "raw icmp: EPERM\n"
            "raw ip6: EPERM\n"
            "netlink xfrm: EPERM\n"
            "netlink netfilter: EPERM\n"
            "netlink audit: EPERM\n"
            "netlink xfrm, high bits: EPERM\n");
}

// Not MPTCP (262), UDP-Lite (136), SCTP (132), L2TP (115), DCCP (33), SMC (256)
// and others: the kernel loads their modules on request.
TEST_F(AttackTest, MakesOnlySocketsOfTheAllowedTypesAndProtocols) {
  Create();
  EXPECT_EQ(Attack("socket-types"),
            "1: 1/0 1/1 2/0 2/1 5/0\n"
            "2: 1/0 1/6 2/0 2/17\n"
            "10: 1/0 1/6 2/0 2/17\n"
            "high bits of the type: EPROTONOSUPPORT\n"
            "high bits of the protocol: EPROTONOSUPPORT\n");
}

TEST_F(AttackTest, CannotReachTheHostsServices) {
  sandbox::UniqueFd listener(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_any;
  socklen_t size = sizeof(address);
  // The listener's address also covers 127.0.0.1.
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size),
            0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address),
                          &size),
            0);
  Create();
  EXPECT_EQ(Attack(absl::StrCat("host ", ntohs(address.sin6_port))),
            "127.0.0.1: ECONNREFUSED\n"
            "::1: ECONNREFUSED\n"
            "169.254.169.254: ENETUNREACH\n"
            "10.0.0.1: ENETUNREACH\n"
            "8.8.8.8: ENETUNREACH\n"
            "2001:db8::1: ENETUNREACH\n");
  EXPECT_EQ(Attack("loopback"), "own loopback: 0\n");
}

TEST_F(AttackTest, CannotReachTheHostsAbstractSockets) {
  const std::string name =
      absl::StrCat("corral-attack-", static_cast<int>(::getpid()));
  sandbox::UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof(address)),
            0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  Create();
  EXPECT_EQ(Attack("abstract-connect " + name), "connect: ECONNREFUSED\n");
  EXPECT_EQ(Shell("cat /proc/net/unix | wc -l"), "1\n");
}

}  // namespace
}  // namespace tests
