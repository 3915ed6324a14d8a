// Parses DNS queries and makes answers that have an address or none (RFC 1035).

#ifndef SANDBOX_EGRESS_DNS_MESSAGE_H_
#define SANDBOX_EGRESS_DNS_MESSAGE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/egress/ip_address.h"

namespace egress {

inline constexpr uint16_t kTypeA = 1;
inline constexpr uint16_t kTypeAaaa = 28;

enum class DnsCode : uint8_t {
  kOk = 0,
  kMalformed = 1,
  kNoSuchName = 3,
  kNotImplemented = 4,
  kRefused = 5,
};

struct DnsQuery {
  // With kOk, the answer depends on the name. With kMalformed and
  // kNotImplemented, the fields below were not read.
  DnsCode code = DnsCode::kMalformed;
  // Normalized; empty if it is no host name.
  std::string name;
  uint16_t type = 0;
  // The part of the message that an answer repeats: the header and the
  // question.
  absl::string_view head;
};

// Returns false if the message deserves no answer: it is shorter than a header,
// or an answer itself. A question has no compressed names, so none is followed.
// `query` refers to `message`.
bool ParseDnsQuery(absl::string_view message, DnsQuery* query);

// An answer without records.
std::string MakeDnsAnswer(const DnsQuery& query, DnsCode code);
// An answer with one address, to a query that was parsed with kOk.
std::string MakeDnsAnswer(const DnsQuery& query, const IpAddress& address);

}  // namespace egress

#endif  // SANDBOX_EGRESS_DNS_MESSAGE_H_
