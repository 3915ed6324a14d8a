#include "sandbox/egress/direct_packet.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace egress {
namespace {

using Event = ::corral::egress::v1::Event;

constexpr size_t kHeaderV4 = 20;
constexpr size_t kHeaderV6 = 40;
constexpr size_t kFragmentHeader = 8;
constexpr size_t kIcmpHeader = 8;
// The fields of the headers begin here.
constexpr size_t kProtocolV4 = 9;
constexpr size_t kChecksumV4 = 10;
constexpr size_t kSourceV4 = 12;
constexpr size_t kDestinationV4 = 16;
constexpr size_t kSourceV6 = 8;
constexpr size_t kDestinationV6 = 24;
constexpr size_t kIcmpChecksum = 2;

uint8_t Byte(absl::string_view bytes, size_t index) {
  return static_cast<uint8_t>(bytes[index]);
}

uint16_t Word(absl::string_view bytes, size_t index) {
  return static_cast<uint16_t>(Byte(bytes, index) << 8 |
                               Byte(bytes, index + 1));
}

void SetWord(std::string* bytes, size_t index, size_t value) {
  (*bytes)[index] = static_cast<char>(value >> 8);
  (*bytes)[index + 1] = static_cast<char>(value);
}

int VersionOf(absl::string_view packet) {
  return packet.empty() ? 0 : Byte(packet, 0) >> 4;
}

template <typename Address>
IpAddress AddressAt(absl::string_view packet, size_t index) {
  Address address;
  std::memcpy(&address, packet.data() + index, sizeof(address));
  return IpAddress(address);
}

// `payload` follows the headers of IP.
std::optional<DirectPacket> Parse(const IpAddress& destination, int protocol,
                                  absl::string_view payload) {
  DirectPacket direct;
  direct.destination = destination;
  switch (protocol) {
    case IPPROTO_ICMP:
    case IPPROTO_IGMP:
    case IPPROTO_ICMPV6:
      return std::nullopt;
    case IPPROTO_TCP:
      direct.transport = Event::TCP;
      break;
    case IPPROTO_UDP:
      direct.transport = Event::UDP;
      break;
    default:
      return direct;
  }
  // Both begin with the ports of source and destination.
  if (payload.size() < 2 * sizeof(uint16_t)) {
    return std::nullopt;
  }
  direct.port = Word(payload, sizeof(uint16_t));
  return direct;
}

std::optional<DirectPacket> ParseV4(absl::string_view packet) {
  constexpr int kOffset = 0x1fff;
  if (packet.size() < kHeaderV4) {
    return std::nullopt;
  }
  const size_t header = size_t{4} * (Byte(packet, 0) & 0xfU);
  if (header < kHeaderV4 || header > packet.size() ||
      Word(packet, 2) != packet.size() || (Word(packet, 6) & kOffset) != 0) {
    return std::nullopt;
  }
  return Parse(AddressAt<in_addr>(packet, kDestinationV4),
               Byte(packet, kProtocolV4), packet.substr(header));
}

std::optional<DirectPacket> ParseV6(absl::string_view packet) {
  constexpr int kOffset = 0xfff8;
  if (packet.size() < kHeaderV6 ||
      Word(packet, 4) != packet.size() - kHeaderV6) {
    return std::nullopt;
  }
  int protocol = Byte(packet, 6);
  absl::string_view payload = packet.substr(kHeaderV6);
  // Other extension headers need not be read: no program without privileges can
  // add one.
  if (protocol == IPPROTO_FRAGMENT) {
    if (payload.size() < kFragmentHeader || (Word(payload, 2) & kOffset) != 0) {
      return std::nullopt;
    }
    protocol = Byte(payload, 0);
    payload.remove_prefix(kFragmentHeader);
  }
  return Parse(AddressAt<in6_addr>(packet, kDestinationV6), protocol, payload);
}

// The checksum of the internet, RFC 1071.
uint16_t Checksum(std::string bytes) {
  bytes.resize(bytes.size() + bytes.size() % 2);
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    sum += Word(bytes, i);
  }
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// A message that quotes the packet, without its checksum.
std::string Prohibited(char type, char code, absl::string_view packet,
                       size_t ip_header) {
  std::string message(kIcmpHeader, '\0');
  message[0] = type;
  message[1] = code;
  absl::StrAppend(&message,
                  packet.substr(0, kMaxRefusal - ip_header - kIcmpHeader));
  return message;
}

// Type 3, code 13, from the address that RFC 7600 reserves for such messages.
// The dialled address would not do as the source: the kernel drops packets that
// seem to come from some of them.
std::string RefusalV4(absl::string_view packet) {
  std::string message = Prohibited(3, 13, packet, kHeaderV4);
  SetWord(&message, kIcmpChecksum, Checksum(message));
  std::string header("\x45\0\0\0\0\0\0\0\x40\1\0\0\xc0\0\0\x08", kSourceV4 + 4);
  absl::StrAppend(&header, packet.substr(kSourceV4, sizeof(in_addr)));
  SetWord(&header, 2, header.size() + message.size());
  SetWord(&header, kChecksumV4, Checksum(header));
  return header + message;
}

// Type 1, code 1, from an address of RFC 6666's network without hosts.
std::string RefusalV6(absl::string_view packet) {
  std::string message = Prohibited(1, 1, packet, kHeaderV6);
  const std::string addresses = absl::StrCat(
      absl::string_view("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", sizeof(in6_addr)),
      packet.substr(kSourceV6, sizeof(in6_addr)));
  std::string header("\x60\0\0\0\0\0\x3a\x40", kSourceV6);
  SetWord(&header, 4, message.size());
  // The checksum counts the addresses, the length and the protocol, too.
  SetWord(&message, kIcmpChecksum,
          Checksum(absl::StrCat(addresses, header.substr(4, 2),
                                absl::string_view("\0\x3a", 2), message)));
  return absl::StrCat(header, addresses, message);
}

}  // namespace

std::optional<DirectPacket> ParseDirectPacket(absl::string_view packet) {
  switch (VersionOf(packet)) {
    case 4:
      return ParseV4(packet);
    case 6:
      return ParseV6(packet);
    default:
      return std::nullopt;
  }
}

std::string RefusalOf(absl::string_view packet) {
  return VersionOf(packet) == 4 ? RefusalV4(packet) : RefusalV6(packet);
}

}  // namespace egress
