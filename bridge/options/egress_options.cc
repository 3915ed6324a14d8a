#include "bridge/options/egress_options.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::EgressRule;

constexpr uint32_t kMaxPort = 65535;

absl::Status NotARule() {
  return absl::InvalidArgumentError(
      "allowed is a host name like example.com or *.example.com, with :PORT, "
      "and with /tcp after the ports for protocols other than TLS and HTTP");
}

}  // namespace

absl::StatusOr<EgressRule> ParseEgressRule(absl::string_view text) {
  EgressRule rule;
  if (absl::ConsumeSuffix(&text, "/tcp")) {
    rule.set_protocol(EgressRule::TCP);
  }
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  rule.set_host(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    uint32_t port;
    if (!absl::SimpleAtoi(parts[i], &port) || port == 0 || port > kMaxPort) {
      return NotARule();
    }
    rule.add_ports(port);
  }
  if (rule.host().empty() ||
      rule.host().find_first_of("/@ ") != std::string::npos ||
      (rule.protocol() == EgressRule::TCP && rule.ports().empty())) {
    return NotARule();
  }
  return rule;
}

void AddEgressOptions(OptionTable& table, EgressRules& rules) {
  table.Value(
      0, "allow-host", "NAME[:PORT]...",
      "Programs inside may reach this host; again for more hosts. With *.\n"
      "before the name: all hosts below it. Ports: 80 and 443, or those that\n"
      "are given. Only TLS and HTTP that name the host are let through;\n"
      "NAME:22/tcp allows any protocol. corral logs --network shows what was\n"
      "refused.",
      [&rules](absl::string_view value) -> absl::Status {
        ASSIGN_OR_RETURN(*rules.Add(), ParseEgressRule(value));
        return absl::OkStatus();
      });
}

void SetEgress(const EgressRules& rules, corral::v1::Sandbox& sandbox) {
  sandbox.set_network(rules.empty() ? corral::v1::Sandbox::NONE
                                    : corral::v1::Sandbox::ALLOW_LIST);
  *sandbox.mutable_egress_rules() = rules;
}

}  // namespace bridge
