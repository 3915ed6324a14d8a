// The configuration: a file in protobuf's text format, overridden by flags,
// completed with defaults.

#ifndef SERVER_CONFIG_H_
#define SERVER_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "server/flags.h"

namespace server {

// Reads flags.config_file, if given. Every field of the result is set and
// within its range. InvalidArgument: "FILE:LINE:COLUMN: field NAME: value V;
// allowed: ..." or "--flag: value ...".
absl::StatusOr<corral::config::v1::ServerConfig> LoadConfig(const Flags& flags);

// As LoadConfig, of a file called `file` that holds `text`.
absl::StatusOr<corral::config::v1::ServerConfig> ParseConfig(
    const std::string& file, const std::string& text, const Flags& flags);

// config.default_limits as the API has them.
corral::v1::Limits DefaultLimits(
    const corral::config::v1::ServerConfig& config);

// What a sandbox gets that names no lifetime.
corral::v1::Lifetime DefaultLifetime(
    const corral::config::v1::ServerConfig& config);

}  // namespace server

#endif  // SERVER_CONFIG_H_
