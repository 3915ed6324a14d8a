#include "sandbox/egress/policy.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"

namespace egress {
namespace {

constexpr uint32_t kMaxPort = 65535;

absl::StatusOr<Rule> MakeRule(const wire::Rule& message) {
  ASSIGN_OR_RETURN(NamePattern pattern, NamePattern::Parse(message.host()));
  std::set<uint16_t> ports;
  for (const uint32_t port : message.ports()) {
    if (port == 0 || port > kMaxPort) {
      return absl::InvalidArgumentError(absl::StrCat(
          message.host(), ": port ", port, " is not in [1, 65535]"));
    }
    ports.insert(static_cast<uint16_t>(port));
  }
  if (ports.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(message.host(), ": at least one port is needed"));
  }
  return Rule{std::move(pattern), std::move(ports), message.protocol()};
}

Limits MakeLimits(const wire::Limits& message) {
  Limits limits;
  if (message.connections() != 0) {
    limits.connections = message.connections();
  }
  limits.bytes = message.bytes();
  if (message.idle_ns() > 0) {
    limits.idle = absl::Nanoseconds(message.idle_ns());
  }
  if (message.total_ns() > 0) {
    limits.total = absl::Nanoseconds(message.total_ns());
  }
  return limits;
}

}  // namespace

absl::StatusOr<Policy> Policy::Make(const wire::Policy& message) {
  if (message.rules_size() > kMaxRules) {
    return absl::InvalidArgumentError(
        absl::StrCat(message.rules_size(), " rules; ", kMaxRules, " allowed"));
  }
  Policy policy;
  for (const wire::Rule& rule : message.rules()) {
    ASSIGN_OR_RETURN(Rule made, MakeRule(rule));
    policy.rules_.push_back(std::move(made));
  }
  if (PortsOf(message).size() > kMaxPorts) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxPorts, " different ports"));
  }
  policy.limits_ = MakeLimits(message.limits());
  return policy;
}

bool Policy::AllowsName(absl::string_view name) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return rule.pattern.Matches(name);
  });
}

const Rule* Policy::Find(absl::string_view name, uint16_t port) const {
  const auto found =
      std::find_if(rules_.begin(), rules_.end(), [&](const Rule& rule) {
        return rule.ports.count(port) != 0 && rule.pattern.Matches(name);
      });
  return found == rules_.end() ? nullptr : &*found;
}

std::set<uint16_t> PortsOf(const wire::Policy& message) {
  std::set<uint16_t> ports;
  for (const wire::Rule& rule : message.rules()) {
    ports.insert(rule.ports().begin(), rule.ports().end());
  }
  return ports;
}

}  // namespace egress
