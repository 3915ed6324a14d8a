// The configuration: a file in protobuf's text format, overridden by flags,
// completed with defaults.

#ifndef SERVER_CONFIG_H_
#define SERVER_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "corral/config/v1/server_config.pb.h"
#include "server/api/conversion.h"
#include "server/flags.h"

namespace server {

// Reads flags.config_file, if given, and returns the complete configuration:
// every field is set (unless its default is "no limit") and within its range.
// Fails with InvalidArgument: "FILE:LINE:COLUMN: field NAME: value "V";
// allowed: ..." or "--flag: value ...".
absl::StatusOr<corral::config::v1::ServerConfig> LoadConfig(const Flags& flags);

// Does the same for a file called `file` that holds `text`.
absl::StatusOr<corral::config::v1::ServerConfig> ParseConfig(
    const std::string& file, const std::string& text, const Flags& flags);

// Returns values for fields that a sandbox's creator left absent. `config` is
// complete.
SandboxDefaults DefaultsOf(const corral::config::v1::ServerConfig& config);

}  // namespace server

#endif  // SERVER_CONFIG_H_
