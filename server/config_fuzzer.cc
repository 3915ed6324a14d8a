#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/config/v1/server_config.pb.h"
#include "sandbox/base/log.h"
#include "server/config.h"
#include "server/flags.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  server::Flags flags;
  flags.listen = "unix:/run/corral.sock";
  const absl::StatusOr<corral::config::v1::ServerConfig> config =
      server::ParseConfig("corrald.textproto", text, flags);
  if (config.ok()) {
    CHECK(!config->state_dir().empty());
  } else {
    CHECK(absl::IsInvalidArgument(config.status())) << config.status();
  }
  return 0;
}
