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

absl::StatusOr<Service> MakeService(const wire::Service& message) {
  if (message.name().empty() || message.host().empty() || message.port() == 0 ||
      message.port() > kMaxPort || message.header().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("service '", message.name(),
                     "' needs a name, a host, a port in [1, 65535] and a "
                     "header"));
  }
  return Service{message.name(), message.host(),
                 static_cast<uint16_t>(message.port()), message.header()};
}

bool IsSame(const Rule& one, const Rule& other) {
  return one.pattern.Covers(other.pattern) &&
         other.pattern.Covers(one.pattern) && one.ports == other.ports &&
         one.protocol == other.protocol;
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
  for (const wire::Service& service : message.services()) {
    ASSIGN_OR_RETURN(Service made, MakeService(service));
    policy.services_.push_back(std::move(made));
  }
  policy.limits_ = MakeLimits(message.limits());
  return policy;
}

bool Policy::AllowsName(absl::string_view name) const {
  return FindService(name) != nullptr ||
         std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
           return rule.pattern.Matches(name);
         });
}

const Service* Policy::FindService(absl::string_view name) const {
  const auto found = std::find_if(
      services_.begin(), services_.end(),
      [&](const Service& service) { return HostNameOf(service) == name; });
  return found == services_.end() ? nullptr : &*found;
}

const Rule* Policy::Find(absl::string_view name, uint16_t port) const {
  const auto found =
      std::find_if(rules_.begin(), rules_.end(), [&](const Rule& rule) {
        return rule.ports.count(port) != 0 && rule.pattern.Matches(name);
      });
  return found == rules_.end() ? nullptr : &*found;
}

std::string HostNameOf(const Service& service) {
  return absl::StrCat(service.name, ".corral.internal");
}

absl::StatusOr<wire::Policy> WithRules(wire::Policy policy,
                                       const wire::Policy& further) {
  ASSIGN_OR_RETURN(const Policy present, Policy::Make(policy));
  std::vector<Rule> known = present.rules();
  for (const wire::Rule& message : further.rules()) {
    ASSIGN_OR_RETURN(Rule rule, MakeRule(message));
    if (std::none_of(known.begin(), known.end(),
                     [&](const Rule& other) { return IsSame(rule, other); })) {
      *policy.add_rules() = message;
      known.push_back(std::move(rule));
    }
  }
  RETURN_IF_ERROR(Policy::Make(policy).status());
  return policy;
}

std::set<uint16_t> PortsOf(const wire::Policy& message) {
  std::set<uint16_t> ports;
  if (!message.services().empty()) {
    ports.insert(kServicePort);
  }
  for (const wire::Rule& rule : message.rules()) {
    ports.insert(rule.ports().begin(), rule.ports().end());
  }
  return ports;
}

}  // namespace egress
