#include "sandbox/kernel/local_route.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/netlink.h"
#include "tests/failing_calls.h"
#include "tests/network/network_namespace.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

std::string Bytes(int family, const char* text) {
  char bytes[sizeof(in6_addr)];
  EXPECT_EQ(::inet_pton(family, text, bytes), 1) << text;
  return {bytes, family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr)};
}

absl::Status Add(int family, const char* network, uint8_t length) {
  return AddLocalRoute(
      family, reinterpret_cast<const uint8_t*>(Bytes(family, network).data()),
      length);
}

// Where a packet to the address would come from; "" if no route leads there.
std::string SourceFor(int family, const char* address) {
  const UniqueFd socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string bytes = Bytes(family, address);
  sockaddr_in6 v6 = {};
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&v6);
  auto* const any = reinterpret_cast<sockaddr*>(&v6);
  const bool is_v4 = family == AF_INET;
  char* const place = reinterpret_cast<char*>(
      is_v4 ? static_cast<void*>(&v4->sin_addr) : &v6.sin6_addr);
  socklen_t size = is_v4 ? sizeof(*v4) : sizeof(v6);
  any->sa_family = static_cast<sa_family_t>(family);
  v6.sin6_port = htons(9);
  bytes.copy(place, bytes.size());
  if (::connect(socket.get(), any, size) != 0 ||
      ::getsockname(socket.get(), any, &size) != 0) {
    return "";
  }
  return {place, bytes.size()};
}

TEST(LocalRouteTest, MakesEachAddressOfANetworkLocal) {
  const tests::NetworkNamespace inside;
  inside.Run([] {
    EXPECT_EQ(SourceFor(AF_INET, "203.0.113.7"), "");
    EXPECT_THAT(Add(AF_INET, "203.0.113.0", 24), IsOk());
    // The address itself.
    EXPECT_EQ(SourceFor(AF_INET, "203.0.113.7"), Bytes(AF_INET, "203.0.113.7"));
    EXPECT_EQ(SourceFor(AF_INET, "203.0.114.7"), "");
    EXPECT_EQ(SourceFor(AF_INET6, "2001:db8::7"), "");
    EXPECT_THAT(Add(AF_INET6, "2001:db8::", 32), IsOk());
    EXPECT_NE(SourceFor(AF_INET6, "2001:db8::7"), "");
    EXPECT_EQ(SourceFor(AF_INET6, "2001:db9::7"), "");
  });
}

TEST(LocalRouteTest, IsAddedOnce) {
  const tests::NetworkNamespace inside;
  inside.Run([] {
    EXPECT_THAT(Add(AF_INET, "203.0.113.0", 24), IsOk());
    EXPECT_TRUE(absl::IsAlreadyExists(Add(AF_INET, "203.0.113.0", 24)));
  });
}

TEST(LocalRouteTest, SaysThatThereIsNoIpv6) {
  const tests::NetworkNamespace inside;
  inside.Run([] {
    std::ofstream("/proc/sys/net/ipv6/conf/all/disable_ipv6") << 1;
    EXPECT_EQ(Add(AF_INET6, "2001:db8::", 32),
              absl::UnavailableError("the network namespace has no IPv6"));
    EXPECT_THAT(Add(AF_INET, "203.0.113.0", 24), IsOk());
  });
}

TEST(NetlinkTest, PadsAnAttribute) {
  rtattr header = {};
  header.rta_type = 5;
  header.rta_len = 4 + 3;
  EXPECT_EQ(NetlinkAttribute(5, "abc"),
            std::string(BytesOf(header)) + std::string("abc\0", 4));
}

TEST(NetlinkTest, ReturnsTheErrorOfTheCallThatFails) {
  const tests::NetworkNamespace inside;
  inside.Run([] {
    for (const int call : {SYS_socket, SYS_sendto, SYS_recvfrom}) {
      int error = 0;
      ASSERT_TRUE(tests::WithFailingCalls({call}, ENOBUFS, [&] {
        error = RequestNetlink(RTM_NEWLINK, 0, "");
      }));
      EXPECT_EQ(error, ENOBUFS) << call;
    }
    // The kernel finds it too short.
    EXPECT_EQ(RequestNetlink(RTM_NEWLINK, 0, "abcd"), EINVAL);
  });
}

}  // namespace
}  // namespace sandbox
