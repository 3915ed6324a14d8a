#include "sandbox/egress/dns_message.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/egress/host_name.h"

namespace egress {
namespace {

constexpr size_t kHeader = 12;
constexpr uint16_t kClassInternet = 1;
// Programs ask again before a name loses its address.
constexpr uint32_t kTtlSeconds = 30;
constexpr size_t kMaxLabel = 63;

// Bits of the third and fourth byte.
constexpr uint8_t kResponse = 0x80;
constexpr uint8_t kOpcode = 0x78;
constexpr uint8_t kRecursionDesired = 0x01;
constexpr uint8_t kRecursionAvailable = 0x80;

uint8_t Byte(absl::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]);
}

uint16_t Read16(absl::string_view bytes, size_t at) {
  return static_cast<uint16_t>(Byte(bytes, at) << 8 | Byte(bytes, at + 1));
}

void Append16(std::string* bytes, uint16_t value) {
  bytes->push_back(static_cast<char>(value >> 8));
  bytes->push_back(static_cast<char>(value));
}

// Reads the labels of a name. Returns the offset after it; 0: malformed.
size_t ReadName(absl::string_view message, std::string* name) {
  size_t at = kHeader;
  while (at < message.size() && Byte(message, at) != 0) {
    const size_t length = Byte(message, at);
    if (length > kMaxLabel || at + 1 + length > message.size() ||
        name->size() + length > kMaxHostName + 1) {
      return 0;
    }
    const absl::string_view label = message.substr(at + 1, length);
    // An empty label makes it no host name.
    const bool dotted = absl::StrContains(label, '.');
    absl::StrAppend(name, label, dotted ? ".." : ".");
    at += 1 + length;
  }
  return at < message.size() ? at + 1 : 0;
}

// The header and the question of an answer.
std::string MakeHead(const DnsQuery& query, DnsCode code, uint16_t answers) {
  std::string answer(query.head);
  answer[2] = static_cast<char>(
      kResponse | (Byte(query.head, 2) & (kOpcode | kRecursionDesired)));
  answer[3] =
      static_cast<char>(kRecursionAvailable | static_cast<uint8_t>(code));
  answer[4] = 0;
  answer[5] = query.head.size() > kHeader ? 1 : 0;
  answer[6] = 0;
  answer[7] = static_cast<char>(answers);
  answer.replace(8, 4, 4, '\0');
  return answer;
}

}  // namespace

bool ParseDnsQuery(absl::string_view message, DnsQuery* query) {
  if (message.size() < kHeader || (Byte(message, 2) & kResponse) != 0) {
    return false;
  }
  query->head = message.substr(0, kHeader);
  if ((Byte(message, 2) & kOpcode) != 0) {
    query->code = DnsCode::kNotImplemented;
    return true;
  }
  std::string name;
  const size_t end = ReadName(message, &name);
  if (Read16(message, 4) != 1 || end == 0 || end + 4 > message.size()) {
    query->code = DnsCode::kMalformed;
    return true;
  }
  query->head = message.substr(0, end + 4);
  query->type = Read16(message, end);
  query->name = NormalizeHostName(name).value_or("");
  query->code = Read16(message, end + 2) == kClassInternet ? DnsCode::kOk
                                                           : DnsCode::kRefused;
  return true;
}

std::string MakeDnsAnswer(const DnsQuery& query, DnsCode code) {
  return MakeHead(query, code, 0);
}

std::string MakeDnsAnswer(const DnsQuery& query, const IpAddress& address) {
  std::string answer = MakeHead(query, DnsCode::kOk, 1);
  const bool v4 = address.family() == AF_INET;
  Append16(&answer, 0xc000 | kHeader);  // the name of the question
  Append16(&answer, v4 ? kTypeA : kTypeAaaa);
  Append16(&answer, kClassInternet);
  Append16(&answer, 0);
  Append16(&answer, kTtlSeconds);
  const size_t size = static_cast<size_t>(address.bits()) / 8;
  Append16(&answer, static_cast<uint16_t>(size));
  answer.append(reinterpret_cast<const char*>(address.bytes().data()), size);
  return answer;
}

}  // namespace egress
