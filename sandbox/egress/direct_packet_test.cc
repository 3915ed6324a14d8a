#include "sandbox/egress/direct_packet.h"

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/egress/ip_address.h"

namespace egress {
namespace {

using Event = ::corral::egress::v1::Event;

std::string Word(size_t value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string Address(const std::string& text) {
  const IpAddress address = *IpAddress::Parse(text);
  return {reinterpret_cast<const char*>(address.bytes().data()),
          static_cast<size_t>(address.bits() / 8)};
}

// A packet from 198.19.255.254 with options of the header.
std::string V4(int protocol, const std::string& destination,
               const std::string& payload, const std::string& options = "") {
  const size_t size = 20 + options.size() + payload.size();
  return absl::StrCat(
      std::string(1, static_cast<char>(0x45 + options.size() / 4)),
      std::string(1, '\0'), Word(size), std::string("\1\2\0\0\x40", 5),
      std::string(1, static_cast<char>(protocol)), Word(0),
      Address("198.19.255.254"), Address(destination), options, payload);
}

// A packet from fdc0:11a1::ffff:fffe.
std::string V6(int protocol, const std::string& destination,
               const std::string& payload) {
  return absl::StrCat(std::string("\x60\0\0\0", 4), Word(payload.size()),
                      std::string(1, static_cast<char>(protocol)), "\x40",
                      Address("fdc0:11a1::ffff:fffe"), Address(destination),
                      payload);
}

// The first bytes of TCP and UDP.
std::string Ports(uint16_t destination) {
  return Word(40000) + Word(destination) + "SEQUENCE";
}

void ExpectDirect(const std::string& packet, const std::string& destination,
                  uint16_t port, Event::Transport transport) {
  const std::optional<DirectPacket> direct = ParseDirectPacket(packet);
  ASSERT_TRUE(direct.has_value()) << destination;
  EXPECT_EQ(direct->destination.ToString(), destination);
  EXPECT_EQ(direct->port, port);
  EXPECT_EQ(direct->transport, transport);
}

bool IsIgnored(const std::string& packet) {
  return !ParseDirectPacket(packet).has_value();
}

TEST(DirectPacketTest, FindsAddressPortAndTransport) {
  ExpectDirect(V4(IPPROTO_TCP, "8.8.8.8", Ports(443)), "8.8.8.8", 443,
               Event::TCP);
  ExpectDirect(V4(IPPROTO_UDP, "169.254.169.254", Ports(53)), "169.254.169.254",
               53, Event::UDP);
  ExpectDirect(V6(IPPROTO_TCP, "2001:db8::1", Ports(65535)), "2001:db8::1",
               65535, Event::TCP);
  ExpectDirect(V6(IPPROTO_UDP, "fe80::1", Ports(1)), "fe80::1", 1, Event::UDP);
}

TEST(DirectPacketTest, FindsThePortBehindOptionsAndAFragmentHeader) {
  ExpectDirect(V4(IPPROTO_TCP, "8.8.8.8", Ports(443), std::string(40, '\1')),
               "8.8.8.8", 443, Event::TCP);
  // Offset 0, more follows.
  ExpectDirect(V6(IPPROTO_FRAGMENT, "2001:db8::1",
                  std::string("\x11\0\0\1\0\0\0\0", 8) + Ports(53)),
               "2001:db8::1", 53, Event::UDP);
}

TEST(DirectPacketTest, ReportsOtherProtocolsWithoutAPort) {
  ExpectDirect(V4(IPPROTO_SCTP, "8.8.8.8", Ports(443)), "8.8.8.8", 0,
               Event::TRANSPORT_UNSPECIFIED);
  ExpectDirect(V6(IPPROTO_SCTP, "2001:db8::1", ""), "2001:db8::1", 0,
               Event::TRANSPORT_UNSPECIFIED);
}

TEST(DirectPacketTest, IgnoresWhatTheKernelSends) {
  EXPECT_TRUE(IsIgnored(V4(IPPROTO_ICMP, "8.8.8.8", Ports(1))));
  EXPECT_TRUE(IsIgnored(V4(IPPROTO_IGMP, "224.0.0.22", Ports(1))));
  EXPECT_TRUE(IsIgnored(V6(IPPROTO_ICMPV6, "ff02::2", Ports(1))));
}

TEST(DirectPacketTest, IgnoresTheRestsOfDividedPackets) {
  std::string packet = V4(IPPROTO_UDP, "8.8.8.8", Ports(53));
  packet[6] = 0x20;  // the first part
  EXPECT_FALSE(IsIgnored(packet));
  packet[7] = 1;
  EXPECT_TRUE(IsIgnored(packet));
  packet[6] = 0x10;
  packet[7] = 0;
  EXPECT_TRUE(IsIgnored(packet));
  for (const char* offset : {"\0\x08", "\x80\0"}) {
    EXPECT_TRUE(IsIgnored(
        V6(IPPROTO_FRAGMENT, "2001:db8::1",
           absl::StrCat(std::string("\x11\0", 2), std::string(offset, 2),
                        std::string(4, '\0'), Ports(53)))));
  }
}

TEST(DirectPacketTest, IgnoresWhatIsNoPacket) {
  EXPECT_TRUE(IsIgnored(""));
  const std::string v4 = V4(IPPROTO_TCP, "8.8.8.8", Ports(443).substr(0, 4));
  const std::string v6 = V6(IPPROTO_TCP, "::2", Ports(443).substr(0, 4));
  EXPECT_FALSE(IsIgnored(v4));
  EXPECT_FALSE(IsIgnored(v6));
  for (const int version : {0, 1, 5, 7, 15}) {
    std::string packet = v4;
    packet[0] = static_cast<char>(version << 4 | 5);
    EXPECT_TRUE(IsIgnored(packet)) << version;
  }
  // Every length but its own, whatever the header says.
  for (size_t size = 0; size < v4.size(); ++size) {
    EXPECT_TRUE(IsIgnored(v4.substr(0, size))) << size;
    std::string cut = v4.substr(0, size);
    if (size >= 4) {
      cut.replace(2, 2, Word(size));
    }
    EXPECT_TRUE(IsIgnored(cut)) << size;
  }
  EXPECT_TRUE(IsIgnored(v4 + "x"));
  for (size_t size = 0; size < v6.size(); ++size) {
    EXPECT_TRUE(IsIgnored(v6.substr(0, size))) << size;
    std::string cut = v6.substr(0, size);
    if (size >= 6) {
      cut.replace(4, 2, Word(size - 40));
    }
    EXPECT_TRUE(IsIgnored(cut)) << size;
  }
  EXPECT_TRUE(IsIgnored(v6 + "x"));
}

TEST(DirectPacketTest, IgnoresAHeaderOfTheWrongLength) {
  std::string packet = V4(IPPROTO_SCTP, "8.8.8.8", "");
  EXPECT_FALSE(IsIgnored(packet));
  packet[0] = 0x44;
  EXPECT_TRUE(IsIgnored(packet)) << "less than the shortest header";
  packet[0] = 0x46;
  EXPECT_TRUE(IsIgnored(packet)) << "more than the packet";
  EXPECT_FALSE(IsIgnored(
      V6(IPPROTO_FRAGMENT, "::2", std::string("\x84\0\0\0\0\0\0\0", 8))));
  EXPECT_TRUE(IsIgnored(
      V6(IPPROTO_FRAGMENT, "::2", std::string("\x84\0\0\0\0\0\0", 7))));
}

// The sum that a receiver makes of data with a correct checksum is 0xffff.
uint32_t Sum(std::string bytes) {
  bytes.resize(bytes.size() + bytes.size() % 2);
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    sum += static_cast<uint32_t>(static_cast<uint8_t>(bytes[i]) << 8 |
                                 static_cast<uint8_t>(bytes[i + 1]));
  }
  while (sum > 0xffff) {
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return sum;
}

std::string PseudoHeader(const std::string& refusal) {
  return absl::StrCat(refusal.substr(8, 32), Word(0), Word(refusal.size() - 40),
                      Word(0), Word(IPPROTO_ICMPV6));
}

TEST(DirectPacketTest, RefusesWithAMessageThatQuotesThePacket) {
  const std::string v4 = V4(IPPROTO_TCP, "8.8.8.8", Ports(443));
  std::string refusal = RefusalOf(v4);
  ASSERT_EQ(refusal.size(), 28 + v4.size());
  EXPECT_EQ(Sum(refusal.substr(0, 20)), 0xffffU);
  EXPECT_EQ(Sum(refusal.substr(20)), 0xffffU);
  refusal.replace(10, 2, "##");
  refusal.replace(22, 2, "##");
  EXPECT_EQ(refusal,
            absl::StrCat(std::string("\x45\0", 2), Word(28 + v4.size()),
                         std::string("\0\0\0\0\x40\1##", 8),
                         Address("192.0.0.8"), Address("198.19.255.254"),
                         std::string("\3\x0d##\0\0\0\0", 8), v4));
  const std::string v6 = V6(IPPROTO_UDP, "fe80::1", Ports(53));
  refusal = RefusalOf(v6);
  ASSERT_EQ(refusal.size(), 48 + v6.size());
  EXPECT_EQ(Sum(PseudoHeader(refusal) + refusal.substr(40)), 0xffffU);
  refusal.replace(42, 2, "##");
  EXPECT_EQ(
      refusal,
      absl::StrCat(std::string("\x60\0\0\0", 4), Word(8 + v6.size()), ":\x40",
                   Address("100::1"), Address("fdc0:11a1::ffff:fffe"),
                   std::string("\1\1##\0\0\0\0", 8), v6));
}

TEST(DirectPacketTest, QuotesNoMoreThanASmallMessageHolds) {
  const std::string v4 = V4(IPPROTO_UDP, "8.8.8.8", std::string(1480, 'a'));
  const std::string v6 = V6(IPPROTO_UDP, "::2", std::string(1460, 'a'));
  EXPECT_EQ(RefusalOf(v4).size(), 576U);
  EXPECT_EQ(RefusalOf(v4).substr(28), v4.substr(0, kMaxRefusal - 28));
  EXPECT_EQ(RefusalOf(v6).size(), kMaxRefusal);
  EXPECT_EQ(RefusalOf(v6).substr(48), v6.substr(0, kMaxRefusal - 48));
}

TEST(DirectPacketTest, MakesTheRightChecksumForAnyPacket) {
  // Among these are sums whose first carry makes a second one, and odd sizes.
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const std::string payload = absl::StrCat(Ports(static_cast<uint16_t>(i)),
                                             std::string(250 + i % 2, '\xff'));
    const std::string v4 =
        RefusalOf(V4(IPPROTO_UDP, "255.255.255.254", payload));
    ASSERT_EQ(Sum(v4.substr(20)), 0xffffU) << i;
    const std::string v6 = RefusalOf(V6(IPPROTO_UDP, "ffff::fffe", payload));
    ASSERT_EQ(Sum(PseudoHeader(v6) + v6.substr(40)), 0xffffU) << i;
  }
}

}  // namespace
}  // namespace egress
