#include "server/config_egress.h"

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/egress/host_name.h"
#include "sandbox/egress/ip_address.h"
#include "sandbox/egress/policy.h"
#include "server/api/ranges.h"

namespace server {
namespace {

using corral::config::v1::EgressRule;

constexpr int kMaxNetworks = 64;
constexpr int kMaxNameServers = 8;
constexpr Range kPorts = {1, UINT16_MAX};
constexpr char kNetworkRule[] = "a network like 10.1.0.0/16, or an address";
constexpr char kNameServerRule[] = "ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT";

bool IsAddress(absl::string_view text) {
  return egress::IpAddress::Parse(std::string(text)).ok();
}

bool IsNameServer(absl::string_view text) {
  if (IsAddress(text)) {
    return true;
  }
  const size_t colon = text.rfind(':');
  uint32_t port;
  if (colon == absl::string_view::npos ||
      !absl::SimpleAtoi(text.substr(colon + 1), &port) ||
      !kPorts.Contains(port)) {
    return false;
  }
  const absl::string_view host = text.substr(0, colon);
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    return IsAddress(host.substr(1, host.size() - 2));
  }
  return !absl::StrContains(host, ':') && IsAddress(host);
}

absl::Status CheckCount(const ConfigSection& section, const char* field,
                        int most) {
  const int count = section.Size(field);
  return count <= most ? absl::OkStatus()
                       : section.Refuse(field, absl::StrCat(count, " elements"),
                                        absl::StrCat("at most ", most), most);
}

absl::Status CheckRule(const EgressRule& rule, const ConfigSection& section) {
  if (rule.host().empty()) {
    return section.CheckPresent("host", egress::kNamePatternRule);
  }
  if (!egress::NamePattern::Parse(rule.host()).ok()) {
    return section.Refuse("host", rule.host(), egress::kNamePatternRule);
  }
  for (int i = 0; i < rule.ports_size(); ++i) {
    if (!kPorts.Contains(rule.ports(i))) {
      return section.Refuse("ports", absl::StrCat(rule.ports(i)), "[1, 65535]",
                            i);
    }
  }
  if (!EgressRule::Protocol_IsValid(rule.protocol())) {
    return section.Refuse("protocol", absl::StrCat(rule.protocol()),
                          "WEB, TCP");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckEgressConfig(const corral::config::v1::Egress& egress,
                               const ConfigSection& section) {
  RETURN_IF_ERROR(CheckCount(section, "private_networks", kMaxNetworks));
  for (int i = 0; i < egress.private_networks_size(); ++i) {
    if (!egress::IpNetwork::Parse(egress.private_networks(i)).ok()) {
      return section.Refuse("private_networks", egress.private_networks(i),
                            kNetworkRule, i);
    }
  }
  RETURN_IF_ERROR(CheckCount(section, "name_servers", kMaxNameServers));
  for (int i = 0; i < egress.name_servers_size(); ++i) {
    if (!IsNameServer(egress.name_servers(i))) {
      return section.Refuse("name_servers", egress.name_servers(i),
                            kNameServerRule, i);
    }
  }
  RETURN_IF_ERROR(section.CheckRange("max_connections", {1, 8000}));
  return section.CheckRange("idle_seconds", {1, kSecondsOfADay});
}

absl::Status CheckEgressCeilingConfig(
    const corral::config::v1::EgressCeiling& ceiling,
    const ConfigSection& section) {
  RETURN_IF_ERROR(CheckCount(section, "rules", egress::kMaxRules));
  for (int i = 0; i < ceiling.rules_size(); ++i) {
    RETURN_IF_ERROR(CheckRule(ceiling.rules(i), section.Nested("rules", i)));
  }
  return absl::OkStatus();
}

corral::supervisor::v1::Egress ToEgress(
    const corral::config::v1::Egress& egress) {
  corral::supervisor::v1::Egress made;
  *made.mutable_policy()->mutable_private_networks() =
      egress.private_networks();
  *made.mutable_name_servers() = egress.name_servers();
  auto* const limits = made.mutable_policy()->mutable_limits();
  limits->set_connections(egress.max_connections());
  limits->set_bytes(egress.max_bytes());
  limits->set_idle_ns(
      absl::ToInt64Nanoseconds(absl::Seconds(egress.idle_seconds())));
  return made;
}

}  // namespace server
