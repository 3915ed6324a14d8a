// The services in a configuration: corral.config.v1.EgressService.

#ifndef SERVER_CONFIG_SERVICES_H_
#define SERVER_CONFIG_SERVICES_H_

#include "absl/status/status.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "server/config_section.h"

namespace server {

// `section` is that of `egress`. Errors are those of ConfigSection.
absl::Status CheckServicesConfig(const corral::config::v1::Egress& egress,
                                 const ConfigSection& section);

// Checks that each service of the ceiling, whose section is `section`, is one
// of `egress`.
absl::Status CheckServicesCeiling(
    const corral::config::v1::EgressCeiling& ceiling,
    const corral::config::v1::Egress& egress, const ConfigSection& section);

// Adds the services that clients may use. `config` is complete.
void AddServices(const corral::config::v1::ServerConfig& config,
                 corral::supervisor::v1::Egress* egress);

}  // namespace server

#endif  // SERVER_CONFIG_SERVICES_H_
