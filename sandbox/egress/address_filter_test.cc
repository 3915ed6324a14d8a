#include "sandbox/egress/address_filter.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
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
}

}  // namespace
}  // namespace egress
