// The ranges and rules that proto/corral/config/v1/server_config.proto states.

#ifndef SERVER_CONFIG_RULES_H_
#define SERVER_CONFIG_RULES_H_

#include "absl/status/status.h"
#include "corral/config/v1/server_config.pb.h"
#include "server/config_section.h"

namespace server {

inline constexpr char kOnShutdownRule[] = "END_SANDBOXES, LEAVE_SANDBOXES";

// Checks the fields that a file gives. `top` is the section of `config` itself.
// Errors are those of ConfigSection.
absl::Status CheckConfig(const corral::config::v1::ServerConfig& config,
                         const ConfigSection& top);

}  // namespace server

#endif  // SERVER_CONFIG_RULES_H_
