#include "server/api/egress_rules.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/egress/host_name.h"
#include "sandbox/egress/policy.h"
#include "server/api/errors.h"
#include "server/api/ranges.h"

namespace server {
namespace {

using corral::v1::EgressRule;
using corral::v1::NetworkEvent;
using corral::v1::Sandbox;
using egress::NamePattern;
using google::protobuf::util::TimeUtil;

constexpr Range kPorts = {1, UINT16_MAX};
constexpr uint32_t kServicePort = 80;

using Rules = google::protobuf::RepeatedPtrField<EgressRule>;

std::string PathOf(absl::string_view field, int index) {
  return absl::StrCat(field, "[", index, "]");
}

absl::Status CheckRule(const std::string& field, const EgressRule& rule) {
  if (!NamePattern::Parse(rule.host()).ok()) {
    return InvalidField(absl::StrCat(field, ".host"), rule.host(),
                        egress::kNamePatternRule);
  }
  if (!EgressRule::Protocol_IsValid(rule.protocol())) {
    return InvalidField(absl::StrCat(field, ".protocol"),
                        absl::StrCat(rule.protocol()), "WEB, TCP");
  }
  for (int i = 0; i < rule.ports_size(); ++i) {
    if (!kPorts.Contains(rule.ports(i))) {
      return InvalidField(absl::StrCat(field, ".ports[", i, "]"),
                          absl::StrCat(rule.ports(i)), "[1, 65535]");
    }
  }
  if (rule.protocol() == EgressRule::TCP && rule.ports().empty()) {
    return InvalidField(absl::StrCat(field, ".ports"), "",
                        "at least one port for a rule with protocol TCP");
  }
  return absl::OkStatus();
}

// A rule in the form of either API, with the numbers of EgressRule::Protocol.
template <typename Rule>
std::set<uint32_t> PortsOf(const Rule& rule) {
  if (rule.ports().empty()) {
    return {80, 443};
  }
  return {rule.ports().begin(), rule.ports().end()};
}

bool Covers(const corral::config::v1::EgressRule& ceiling,
            const EgressRule& rule) {
  const std::set<uint32_t> allowed = PortsOf(ceiling);
  const std::set<uint32_t> wanted = PortsOf(rule);
  return NamePattern::Parse(ceiling.host())
             ->Covers(*NamePattern::Parse(rule.host())) &&
         std::includes(allowed.begin(), allowed.end(), wanted.begin(),
                       wanted.end()) &&
         (rule.protocol() != EgressRule::TCP ||
          ceiling.protocol() == corral::config::v1::EgressRule::TCP);
}

}  // namespace

absl::Status CheckEgress(absl::string_view field, const Sandbox& sandbox) {
  if (!Sandbox::Network_IsValid(sandbox.network())) {
    return InvalidField(absl::StrCat(field, ".network"),
                        absl::StrCat(sandbox.network()), "NONE, ALLOW_LIST");
  }
  const std::string rules = absl::StrCat(field, ".egress_rules");
  if (sandbox.network() != Sandbox::ALLOW_LIST &&
      !sandbox.egress_rules().empty()) {
    return InvalidField(rules,
                        absl::StrCat(sandbox.egress_rules_size(), " rules"),
                        "none, unless network is ALLOW_LIST");
  }
  std::set<uint32_t> ports;
  if (!sandbox.egress_services().empty()) {
    ports.insert(kServicePort);
  }
  return CheckEgressRules(rules, sandbox.egress_rules(), std::move(ports));
}

absl::Status CheckEgressRules(absl::string_view field, const Rules& rules,
                              std::set<uint32_t> ports) {
  const int count = rules.size();
  if (count > egress::kMaxRules) {
    return InvalidField(field, absl::StrCat(count, " rules"),
                        absl::StrCat("at most ", egress::kMaxRules, " rules"));
  }
  for (int i = 0; i < count; ++i) {
    RETURN_IF_ERROR(CheckRule(PathOf(field, i), rules[i]));
    ports.merge(PortsOf(rules[i]));
    if (ports.size() > egress::kMaxPorts) {
      return InvalidField(
          absl::StrCat(PathOf(field, i), ".ports"),
          absl::StrCat(ports.size(), " different ports"),
          absl::StrCat("at most ", egress::kMaxPorts, " in all rules"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckEgressCeiling(
    const corral::config::v1::EgressCeiling& ceiling, absl::string_view field,
    const Rules& rules) {
  for (int i = 0; i < rules.size(); ++i) {
    const EgressRule& rule = rules[i];
    if (std::none_of(ceiling.rules().begin(), ceiling.rules().end(),
                     [&](const corral::config::v1::EgressRule& allowed) {
                       return Covers(allowed, rule);
                     })) {
      return InvalidField(PathOf(field, i), rule.ShortDebugString(),
                          "what a rule of the server's ceilings.egress allows");
    }
  }
  return absl::OkStatus();
}

corral::egress::v1::Policy ToPolicy(const Rules& rules) {
  corral::egress::v1::Policy policy;
  for (const EgressRule& rule : rules) {
    corral::egress::v1::Rule* const made = policy.add_rules();
    made->set_host(rule.host());
    made->set_protocol(rule.protocol() == EgressRule::TCP
                           ? corral::egress::v1::Rule::TCP
                           : corral::egress::v1::Rule::WEB);
    for (const uint32_t port : PortsOf(rule)) {
      made->add_ports(port);
    }
  }
  return policy;
}

void DescribePolicy(const corral::egress::v1::Policy& policy,
                    Sandbox* sandbox) {
  sandbox->set_network(Sandbox::ALLOW_LIST);
  for (const corral::egress::v1::Service& service : policy.services()) {
    sandbox->add_egress_services(service.name());
  }
  for (const corral::egress::v1::Rule& rule : policy.rules()) {
    EgressRule* const described = sandbox->add_egress_rules();
    described->set_host(rule.host());
    described->set_protocol(rule.protocol() == corral::egress::v1::Rule::TCP
                                ? EgressRule::TCP
                                : EgressRule::WEB);
    *described->mutable_ports() = rule.ports();
  }
}

NetworkEvent FromEvent(const corral::egress::v1::Event& event) {
  // The numbers are the same; a later supervisor may know more.
  NetworkEvent described;
  described.set_number(event.number());
  *described.mutable_time() = TimeUtil::NanosecondsToTimestamp(event.time_ns());
  described.set_kind(static_cast<NetworkEvent::Kind>(event.kind()));
  described.set_reason(static_cast<NetworkEvent::Reason>(event.reason()));
  described.set_host(event.host());
  described.set_port(event.port());
  described.set_claimed(event.claimed());
  described.set_upstream(event.upstream());
  described.set_left_out(event.left_out());
  described.set_transport(
      static_cast<NetworkEvent::Transport>(event.transport()));
  if (event.kind() == corral::egress::v1::Event::CONNECTION_ENDED) {
    described.set_sent_bytes(event.sent_bytes());
    described.set_received_bytes(event.received_bytes());
    *described.mutable_duration() =
        TimeUtil::NanosecondsToDuration(event.duration_ns());
  }
  return described;
}

}  // namespace server
