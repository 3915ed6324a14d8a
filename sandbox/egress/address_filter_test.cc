#include "sandbox/egress/address_filter.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/local_route.h"
#include "tests/network/network_namespace.h"
#include "tests/status_matchers.h"

namespace egress {
namespace {

using ::testing::HasSubstr;
using ::tests::StatusIs;

IpAddress Address(const std::string& text) { return *IpAddress::Parse(text); }

TEST(AddressFilterTest, AllowsPublicAddresses) {
  const AddressFilter filter({});
  for (const char* text : {"1.1.1.1", "151.101.1.194", "172.32.0.1",
                           "100.128.0.1", "2606:4700::1111", "2a00::1"}) {
    EXPECT_TRUE(filter.Allows(Address(text))) << text;
  }
}

TEST(AddressFilterTest, RefusesWhatIsNotPublic) {
  const AddressFilter filter({});
  for (const char* text : {"0.0.0.0",
                           "0.1.2.3",
                           "10.0.0.1",
                           "100.64.0.1",
                           "100.100.100.200",
                           "127.0.0.1",
                           "127.255.0.1",
                           "168.63.129.16",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.1",
                           "192.0.0.192",
                           "192.0.2.1",
                           "192.88.99.1",
                           "192.168.1.1",
                           "198.18.0.1",
                           "198.19.255.1",
                           "198.51.100.1",
                           "203.0.113.1",
                           "224.0.0.1",
                           "239.255.255.250",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::ffff:127.0.0.1",
                           "::ffff:8.8.8.8",
                           "::127.0.0.1",
                           "64:ff9b::7f00:1",
                           "64:ff9b:1::1",
                           "100::1",
                           "2001::1",
                           "2001:db8::1",
                           "2002:7f00:1::1",
                           "3fff::1",
                           "fc00::1",
                           "fd00:ec2::254",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1"}) {
    EXPECT_FALSE(filter.Allows(Address(text))) << text;
  }
}

TEST(AddressFilterTest, AllowsTheNetworksOfTheOperator) {
  const AddressFilter filter({*IpNetwork::Parse("10.1.0.0/16"),
                              *IpNetwork::Parse("127.0.0.1"),
                              *IpNetwork::Parse("fd00:1::/32")});
  EXPECT_TRUE(filter.Allows(Address("10.1.255.1")));
  EXPECT_FALSE(filter.Allows(Address("10.2.0.1")));
  EXPECT_TRUE(filter.Allows(Address("127.0.0.1")));
  EXPECT_FALSE(filter.Allows(Address("127.0.0.2")));
  EXPECT_TRUE(filter.Allows(Address("fd00:1::5")));
  EXPECT_FALSE(filter.Allows(Address("::ffff:10.1.0.1")));
}

TEST(IpNetworkTest, RefusesWhatIsNoNetwork) {
  for (const char* text : {"", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8",
                           "::/129", "10.0.0.0/8/8", "example.com"}) {
    EXPECT_THAT(IpNetwork::Parse(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("must be a network")))
        << text;
  }
  EXPECT_THAT(IpNetwork::Parse("10.1.0.0/8").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("bits beyond the length")));
  const std::string shown(100, 'x');
  EXPECT_THAT(IpNetwork::Parse(shown + "yy").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'" + shown + "'")));
}

TEST(IpNetworkTest, ContainsExactlyItsAddresses) {
  const auto contains = [](const char* network, const char* address) {
    return IpNetwork::Parse(network)->Contains(Address(address));
  };
  EXPECT_TRUE(contains("10.0.0.0/9", "10.127.255.255"));
  EXPECT_FALSE(contains("10.0.0.0/9", "10.128.0.0"));
  EXPECT_TRUE(contains("10.128.0.0/9", "10.128.0.0"));
  EXPECT_TRUE(contains("0.0.0.0/0", "255.255.255.255"));
  EXPECT_FALSE(contains("0.0.0.0/0", "::"));
  EXPECT_TRUE(contains("10.0.0.1/32", "10.0.0.1"));
  EXPECT_FALSE(contains("10.0.0.1", "10.0.0.0"));
  EXPECT_TRUE(contains("fd00::/127", "fd00::1"));
  EXPECT_FALSE(contains("fd00::/127", "fd00::2"));
  EXPECT_FALSE(contains("fd00::1/128", "fd00::"));
}

TEST(IpAddressTest, IsParsedAndPrinted) {
  for (const char* text : {"192.0.2.1", "2001:db8::1"}) {
    EXPECT_EQ(Address(text).ToString(), text);
    EXPECT_EQ(Address(text), Address(text));
  }
  EXPECT_EQ(Address("192.0.2.1").bits(), 32);
  EXPECT_EQ(Address("2001:db8::1").bits(), 128);
  EXPECT_FALSE(Address("192.0.2.1") == Address("192.0.2.2"));
  EXPECT_FALSE(Address("0.0.0.0") == Address("::"));
  EXPECT_THAT(IpAddress::Parse("x").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "'x': no address"));
}

TEST(IpAddressTest, IsTheSameAsASocketsName) {
  for (const char* text : {"192.0.2.1", "2001:db8::1"}) {
    sockaddr_storage name;
    const socklen_t size = Address(text).ToSocket(0x1234, &name);
    EXPECT_EQ(IpAddress::Of(name), Address(text));
    EXPECT_EQ(size, name.ss_family == AF_INET ? sizeof(sockaddr_in)
                                              : sizeof(sockaddr_in6));
    // Both families have the port at the same place.
    EXPECT_EQ(reinterpret_cast<sockaddr_in*>(&name)->sin_port, htons(0x1234));
  }
}

// A public address that is the host's own leads to the host, too.
TEST(AddressFilterTest, RefusesPublicAddressesOfTheHost) {
  const tests::NetworkNamespace network;
  network.Run([] {
    const AddressFilter filter({});
    EXPECT_TRUE(filter.Allows(Address("8.8.8.8")));
    ASSERT_TRUE(
        sandbox::AddLocalRoute(AF_INET, Address("8.8.8.0").bytes().data(), 24)
            .ok());
    EXPECT_FALSE(filter.Allows(Address("8.8.8.8")));
    EXPECT_TRUE(filter.Allows(Address("8.8.9.8")));
  });
}

}  // namespace
}  // namespace egress
