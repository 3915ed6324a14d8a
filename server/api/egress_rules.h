// The way out of a sandbox in the API: corral.v1.EgressRule, NetworkEvent and
// the ceiling of the configuration.

#ifndef SERVER_API_EGRESS_RULES_H_
#define SERVER_API_EGRESS_RULES_H_

#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/egress/v1/egress.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace server {

// Checks `network` and `egress_rules` of a sandbox, whose path in the request
// is `field`. Errors are INVALID_FIELD.
absl::Status CheckEgress(absl::string_view field,
                         const corral::v1::Sandbox& sandbox);

// Checks rules, whose path in the request is `field`. `ports`: further ports,
// which count with those of the rules. INVALID_FIELD.
absl::Status CheckEgressRules(
    absl::string_view field,
    const google::protobuf::RepeatedPtrField<corral::v1::EgressRule>& rules,
    std::set<uint32_t> ports = {});

// Fails with INVALID_FIELD if a rule does not lie within one of the ceiling.
// Both were checked before.
absl::Status CheckEgressCeiling(
    const corral::config::v1::EgressCeiling& ceiling, absl::string_view field,
    const google::protobuf::RepeatedPtrField<corral::v1::EgressRule>& rules);

// The rules with their default ports.
corral::egress::v1::Policy ToPolicy(
    const google::protobuf::RepeatedPtrField<corral::v1::EgressRule>& rules);

// Sets `network`, `egress_rules` and `egress_services`.
void DescribePolicy(const corral::egress::v1::Policy& policy,
                    corral::v1::Sandbox* sandbox);

corral::v1::NetworkEvent FromEvent(const corral::egress::v1::Event& event);

}  // namespace server

#endif  // SERVER_API_EGRESS_RULES_H_
