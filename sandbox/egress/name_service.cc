#include "sandbox/egress/name_service.h"

#include "sandbox/egress/dns_message.h"

namespace egress {

std::string NameService::Answer(absl::string_view message) {
  DnsQuery query;
  if (!ParseDnsQuery(message, &query)) {
    return "";
  }
  if (query.code != DnsCode::kOk) {
    return MakeDnsAnswer(query, query.code);
  }
  if (!policy_->AllowsName(query.name)) {
    wire::Event event;
    event.set_kind(wire::Event::NAME_REFUSED);
    event.set_reason(wire::Event::NAME_NOT_ALLOWED);
    event.set_host(query.name);
    journal_->Report(event);
    // Not kRefused: musl waits for a better answer until its time is over, and
    // glibc calls it a temporary failure, after which programs try again.
    return MakeDnsAnswer(query, DnsCode::kNoSuchName);
  }
  if (query.type == kTypeA) {
    return MakeDnsAnswer(query, names_->Add(query.name).v4);
  }
  if (query.type == kTypeAaaa && ipv6_) {
    return MakeDnsAnswer(query, names_->Add(query.name).v6);
  }
  return MakeDnsAnswer(query, DnsCode::kOk);
}

}  // namespace egress
