// Fills in what a configuration leaves open.

#ifndef SERVER_CONFIG_DEFAULTS_H_
#define SERVER_CONFIG_DEFAULTS_H_

#include "absl/status/status.h"
#include "corral/config/v1/server_config.pb.h"

namespace server {

// Sets every absent field of `config`, which is within its ranges. Where a
// default of Corral's own is above a ceiling of the configuration, or is "no
// limit", the ceiling is the default. Fails with InvalidArgument if the
// environment does not say where to listen.
absl::Status ApplyDefaults(corral::config::v1::ServerConfig* config);

}  // namespace server

#endif  // SERVER_CONFIG_DEFAULTS_H_
