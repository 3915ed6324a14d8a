// The hosts that a sandbox may reach.

#ifndef SANDBOX_EGRESS_POLICY_H_
#define SANDBOX_EGRESS_POLICY_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/egress/host_name.h"

namespace egress {

namespace wire = ::corral::egress::v1;

inline constexpr int kMaxRules = 256;
// The most different ports in all rules together: each takes two listeners.
inline constexpr size_t kMaxPorts = 16;

struct Rule {
  NamePattern pattern;
  std::set<uint16_t> ports;
  wire::Rule::Protocol protocol;
};

// A service of the operator: see corral.egress.v1.Service.
struct Service {
  std::string name;
  std::string host;
  uint16_t port = 0;
  std::string header;
};

// The port of all services inside, and the host name of one.
inline constexpr uint16_t kServicePort = 80;
std::string HostNameOf(const Service& service);

struct Limits {
  uint32_t connections = 2048;
  // The most bytes of all connections together; 0: no limit.
  uint64_t bytes = 0;
  absl::Duration idle = absl::Minutes(15);
  absl::Duration total = absl::Hours(24);
};

class Policy {
 public:
  // Fails with InvalidArgument; the error names the rule and what is allowed.
  static absl::StatusOr<Policy> Make(const wire::Policy& message);

  // Returns true if a rule matches `name`, which is normalized, with any port,
  // or if it is the host name of a service.
  bool AllowsName(absl::string_view name) const;
  // The first rule that matches; null if there is none.
  const Rule* Find(absl::string_view name, uint16_t port) const;

  // The service with this host name; null if there is none. Rules do not matter
  // for such a name.
  const Service* FindService(absl::string_view name) const;
  const std::vector<Service>& services() const { return services_; }

  const Limits& limits() const { return limits_; }
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  std::vector<Rule> rules_;
  std::vector<Service> services_;
  Limits limits_;
};

// Returns `policy` with those rules of `further` at its end that it does not
// have yet. Rules with the same pattern, ports and protocol are the same. Fails
// as Policy::Make() does.
absl::StatusOr<wire::Policy> WithRules(wire::Policy policy,
                                       const wire::Policy& further);

// The ports of all rules, and kServicePort if there are services.
std::set<uint16_t> PortsOf(const wire::Policy& message);

}  // namespace egress

#endif  // SANDBOX_EGRESS_POLICY_H_
