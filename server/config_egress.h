// The rules for the way out in a configuration, and what it gives sandboxes.

#ifndef SERVER_CONFIG_EGRESS_H_
#define SERVER_CONFIG_EGRESS_H_

#include "absl/status/status.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "server/config_section.h"

namespace server {

// `section` is that of `egress`. Errors are those of ConfigSection.
absl::Status CheckEgressConfig(const corral::config::v1::Egress& egress,
                               const ConfigSection& section);

// `section` is that of `ceiling`.
absl::Status CheckEgressCeilingConfig(
    const corral::config::v1::EgressCeiling& ceiling,
    const ConfigSection& section);

// The properties of every way out, without rules.
corral::supervisor::v1::Egress ToEgress(
    const corral::config::v1::Egress& egress);

}  // namespace server

#endif  // SERVER_CONFIG_EGRESS_H_
