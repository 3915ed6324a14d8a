#include "server/config_defaults.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/config/v1/server_config.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "sandbox/base/status_macros.h"
#include "server/api/ranges.h"

namespace server {
namespace {

using corral::config::v1::Ceilings;
using corral::config::v1::SandboxLimits;
using corral::config::v1::ServerConfig;

constexpr uint64_t kDefaultPids = 4096;
constexpr uint64_t kDefaultOutputBytes = 4ULL << 30;
constexpr uint32_t kDefaultMaxEnded = 1000;
constexpr uint32_t kDefaultMaxEndedAge = 7 * kSecondsOfADay;
constexpr const char* kLimitsWithoutDefault[] = {
    "cpu_millis",
    "file_bytes",
    "disk_bytes_per_second",
    "disk_operations_per_second",
    "disk_bytes",
    "disk_inodes",
};

// Returns the value of a variable that names a directory; "" if it is unset, or
// not an absolute path.
std::string DirectoryIn(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

absl::StatusOr<std::string> DefaultListenAddress() {
  if (::geteuid() == 0) {
    return "unix:/run/corral/corrald.sock";
  }
  const std::string runtime = DirectoryIn("XDG_RUNTIME_DIR");
  if (runtime.empty()) {
    return absl::InvalidArgumentError(
        "neither --listen nor $XDG_RUNTIME_DIR says where to listen");
  }
  return absl::StrCat("unix:", runtime, "/corral/corrald.sock");
}

absl::StatusOr<std::string> DefaultStateDirectory() {
  if (::geteuid() == 0) {
    return "/var/lib/corral";
  }
  const std::string state = DirectoryIn("XDG_STATE_HOME");
  if (!state.empty()) {
    return state + "/corral";
  }
  const std::string home = DirectoryIn("HOME");
  if (home.empty()) {
    return absl::InvalidArgumentError(
        "neither --state-dir, $XDG_STATE_HOME nor $HOME says where to keep "
        "sandboxes and records");
  }
  return home + "/.local/state/corral";
}

// Returns `fallback`, or the ceiling if that is lower.
template <typename Number>
Number AtMost(Number fallback, bool has_ceiling, Number ceiling) {
  return has_ceiling ? std::min(fallback, ceiling) : fallback;
}

// A limit that is absent becomes its ceiling, if there is one.
void TakeCeiling(const char* name, const SandboxLimits& ceilings,
                 SandboxLimits* limits) {
  const google::protobuf::FieldDescriptor* field =
      SandboxLimits::descriptor()->FindFieldByName(name);
  const google::protobuf::Reflection* reflection = limits->GetReflection();
  if (!reflection->HasField(*limits, field) &&
      reflection->HasField(ceilings, field)) {
    reflection->SetUInt64(limits, field,
                          reflection->GetUInt64(ceilings, field));
  }
}

absl::Status CompleteLimits(const ServerConfig& config,
                            const SandboxLimits& ceilings,
                            SandboxLimits* limits) {
  if (!limits->has_memory_bytes()) {
    struct sysinfo host = {};
    if (::sysinfo(&host) != 0) {
      return absl::ErrnoToStatus(errno, "sysinfo");
    }
    // The last quarter is for the host and the server themselves.
    const uint64_t memory = uint64_t{host.totalram} * host.mem_unit / 4 * 3;
    limits->set_memory_bytes(
        AtMost(AtMost(memory, config.max_memory_bytes() != 0,
                      config.max_memory_bytes()),
               ceilings.has_memory_bytes(), ceilings.memory_bytes()));
  }
  if (!limits->has_pids()) {
    limits->set_pids(
        AtMost(AtMost(kDefaultPids, config.max_pids() != 0, config.max_pids()),
               ceilings.has_pids(), ceilings.pids()));
  }
  for (const char* field : kLimitsWithoutDefault) {
    TakeCeiling(field, ceilings, limits);
  }
  if (!limits->has_output_bytes()) {
    const uint64_t output =
        AtMost(kDefaultOutputBytes, config.max_output_bytes() != 0,
               config.max_output_bytes());
    limits->set_output_bytes(
        AtMost(output, ceilings.has_output_bytes(), ceilings.output_bytes()));
  }
  return absl::OkStatus();
}

void CompleteLifetimeAndRetention(ServerConfig* config) {
  const Ceilings& ceilings = config->ceilings();
  if (config->default_max_age_seconds() == 0) {
    config->set_default_max_age_seconds(ceilings.max_age_seconds());
  }
  if (config->default_idle_timeout_seconds() == 0) {
    config->set_default_idle_timeout_seconds(ceilings.idle_timeout_seconds());
  }
  if (!config->has_default_max_ended_executions()) {
    config->set_default_max_ended_executions(
        AtMost(kDefaultMaxEnded, ceilings.has_max_ended_executions(),
               ceilings.max_ended_executions()));
  }
  if (!config->has_default_max_ended_age_seconds()) {
    config->set_default_max_ended_age_seconds(
        AtMost(kDefaultMaxEndedAge, ceilings.has_max_ended_age_seconds(),
               ceilings.max_ended_age_seconds()));
  }
}

void CompleteBounds(ServerConfig* config) {
  if (config->max_sandboxes() == 0) {
    config->set_max_sandboxes(1024);
  }
  if (config->max_executions_per_sandbox() == 0) {
    config->set_max_executions_per_sandbox(10'000);
  }
  if (config->max_ended_executions() == 0) {
    config->set_max_ended_executions(100'000);
  }
  if (config->max_waiting_calls() == 0) {
    config->set_max_waiting_calls(10'000);
  }
  if (config->max_connections() == 0) {
    config->set_max_connections(10'000);
  }
  if (config->max_rpc_memory_bytes() == 0) {
    config->set_max_rpc_memory_bytes(256 << 20);
  }
  if (config->max_waiting_input_bytes() == 0) {
    config->set_max_waiting_input_bytes(64 << 20);
  }
}

}  // namespace

std::vector<std::string> SessionDirectories() {
  std::vector<std::string> directories;
  if (::geteuid() != 0) {
    for (const std::string& directory :
         {DirectoryIn("XDG_RUNTIME_DIR"),
          absl::StrCat("/run/user/", ::geteuid()),
          DefaultStateDirectory().value_or("")}) {
      if (!directory.empty()) {
        directories.push_back(directory);
      }
    }
  }
  return directories;
}

absl::Status ApplyDefaults(ServerConfig* config) {
  if (config->listen().empty()) {
    ASSIGN_OR_RETURN(*config->mutable_listen(), DefaultListenAddress());
  }
  if (config->state_dir().empty()) {
    ASSIGN_OR_RETURN(*config->mutable_state_dir(), DefaultStateDirectory());
  }
  if (!config->has_drain_seconds()) {
    config->set_drain_seconds(10);
  }
  CompleteBounds(config);
  CompleteLifetimeAndRetention(config);
  return CompleteLimits(*config, config->ceilings().limits(),
                        config->mutable_default_limits());
}

}  // namespace server
