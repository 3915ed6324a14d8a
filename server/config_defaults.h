// Fills in what a configuration leaves open.

#ifndef SERVER_CONFIG_DEFAULTS_H_
#define SERVER_CONFIG_DEFAULTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "corral/config/v1/server_config.pb.h"

namespace server {

// Returns the directories of the user of this process in which its services and
// its servers have their sockets and records: what is there obeys whoever has
// the user's id. Empty for root.
std::vector<std::string> SessionDirectories();

// Sets every absent field of `config`, which is within its ranges. Where a
// default of Corral's own is above a ceiling of the configuration, or is "no
// limit", the ceiling is the default. Fails with InvalidArgument if the
// environment does not say where to listen, or where to keep the state.
absl::Status ApplyDefaults(corral::config::v1::ServerConfig* config);

}  // namespace server

#endif  // SERVER_CONFIG_DEFAULTS_H_
