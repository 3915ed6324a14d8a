#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/base/log.h"
#include "sandbox/egress/dns_message.h"
#include "sandbox/egress/host_name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view message(reinterpret_cast<const char*>(data), size);
  egress::DnsQuery query;
  if (!egress::ParseDnsQuery(message, &query)) {
    return 0;
  }
  CHECK(query.head.size() <= size);
  CHECK(query.name.empty() ||
        egress::NormalizeHostName(query.name) == query.name);
  const std::string answer = egress::MakeDnsAnswer(query, query.code);
  CHECK(answer.size() <= size || query.code != egress::DnsCode::kOk);
  // An answer deserves none.
  egress::DnsQuery again;
  CHECK(!egress::ParseDnsQuery(answer, &again));
  if (query.code == egress::DnsCode::kOk) {
    const egress::IpAddress address;
    CHECK(egress::MakeDnsAnswer(query, address).size() > answer.size());
  }
  return 0;
}
