#include "server/config_rules.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "sandbox/base/status_macros.h"
#include "server/api/ranges.h"
#include "server/config_egress.h"
#include "server/config_section.h"
#include "server/config_services.h"
#include "server/net/listen_address.h"

namespace server {
namespace {

using corral::config::v1::ServerConfig;

struct FieldRange {
  const char* field;
  Range range;
};

constexpr Range kSeconds = {1, kSecondsOfAYear};

constexpr FieldRange kServerRanges[] = {
    {"max_sandboxes", {1, 4096}},
    {"max_executions_per_sandbox", {1, 100'000}},
    {"drain_seconds", {0, kSecondsOfADay}},
    {"idle_exit_seconds", {0, kSecondsOfADay}},
    {"max_output_bytes", {kOutputBytes.least, UINT64_MAX}},
    {"default_max_age_seconds", {0, kSecondsOfAYear}},
    {"default_idle_timeout_seconds", {0, kSecondsOfAYear}},
    {"default_max_ended_executions", kMaxEndedExecutions},
    {"default_max_ended_age_seconds", kSeconds},
    {"max_ended_executions", {1, 10'000'000}},
    {"max_waiting_calls", {1, 1'000'000}},
    {"max_connections", {1, 1'000'000}},
    {"max_rpc_memory_bytes", {16 << 20, 1ULL << 40}},
    {"max_waiting_input_bytes", {4 << 20, 1ULL << 40}},
    {"max_memory_bytes", {kMemoryBytes.least, UINT64_MAX}},
    {"max_pids", {kPids.least, UINT64_MAX}},
};

constexpr FieldRange kLimitRanges[] = {
    {"memory_bytes", kMemoryBytes},
    {"pids", kPids},
    {"cpu_millis", kCpuMillis},
    {"output_bytes", kOutputBytes},
    {"file_bytes", kFileBytes},
    {"disk_bytes_per_second", kDiskBytesPerSecond},
    {"disk_operations_per_second", kDiskOperationsPerSecond},
    {"disk_bytes", kDiskBytes},
    {"disk_inodes", kDiskInodes},
};

constexpr FieldRange kCeilingRanges[] = {
    {"max_age_seconds", kSeconds},
    {"idle_timeout_seconds", kSeconds},
    {"max_ended_executions", kMaxEndedExecutions},
    {"max_ended_age_seconds", kSeconds},
    {"wall_timeout_seconds", kSeconds},
    {"cpu_timeout_seconds", kSeconds},
    {"kill_grace_seconds", kSeconds},
    {"drain_timeout_seconds", kSeconds},
    {"retain_bytes", kRetainBytes},
    {"keep_after_end_seconds", {0, kSecondsOfAYear}},
};

// A default of the configuration, and the field of Ceilings that bounds it.
struct BoundedDefault {
  const char* field;
  const char* ceiling;
};

constexpr BoundedDefault kBoundedDefaults[] = {
    {"default_max_age_seconds", "max_age_seconds"},
    {"default_idle_timeout_seconds", "idle_timeout_seconds"},
    {"default_max_ended_executions", "max_ended_executions"},
    {"default_max_ended_age_seconds", "max_ended_age_seconds"},
};

template <size_t kCount>
absl::Status CheckRanges(const ConfigSection& section,
                         const FieldRange (&ranges)[kCount]) {
  for (const FieldRange& each : ranges) {
    RETURN_IF_ERROR(section.CheckRange(each.field, each.range));
  }
  return absl::OkStatus();
}

absl::Status CheckTlsFiles(const ConfigSection& tls) {
  for (const char* field :
       {"certificate_chain_file", "private_key_file", "client_ca_file"}) {
    RETURN_IF_ERROR(tls.CheckPresent(field, "an absolute path"));
    RETURN_IF_ERROR(tls.CheckPath(field));
  }
  return absl::OkStatus();
}

absl::Status CheckDefaultLimits(const ServerConfig& config,
                                const ConfigSection& limits) {
  RETURN_IF_ERROR(CheckRanges(limits, kLimitRanges));
  const std::pair<FieldRange, uint64_t> totals[] = {
      {{"output_bytes", kOutputBytes}, config.max_output_bytes()},
      {{"memory_bytes", kMemoryBytes}, config.max_memory_bytes()},
      {{"pids", kPids}, config.max_pids()}};
  for (const auto& [each, total] : totals) {
    if (total != 0) {
      RETURN_IF_ERROR(limits.CheckRange(
          each.field, {each.range.least, std::min(each.range.most, total)}));
    }
  }
  return absl::OkStatus();
}

// Fails if `field` of `defaults` is above `ceiling` of `ceilings`.
absl::Status CheckDefault(const ConfigSection& defaults, const char* field,
                          const ConfigSection& ceilings, const char* ceiling,
                          const char* ceiling_path) {
  if (!ceilings.Has(ceiling) ||
      defaults.Number(field) <= ceilings.Number(ceiling)) {
    return absl::OkStatus();
  }
  return defaults.Refuse(
      field, absl::StrCat(defaults.Number(field)),
      absl::StrCat("at most ", ceilings.Number(ceiling), ", which ceilings.",
                   ceiling_path, ceiling, " names"));
}

absl::Status CheckCeilings(const ServerConfig& config,
                           const ConfigSection& top) {
  const ConfigSection ceilings = top.Nested("ceilings");
  RETURN_IF_ERROR(CheckRanges(ceilings, kCeilingRanges));
  if (config.ceilings().has_egress()) {
    const ConfigSection egress = ceilings.Nested("egress");
    RETURN_IF_ERROR(
        CheckEgressCeilingConfig(config.ceilings().egress(), egress));
    RETURN_IF_ERROR(CheckServicesCeiling(config.ceilings().egress(),
                                         config.egress(), egress));
  }
  for (const BoundedDefault& each : kBoundedDefaults) {
    RETURN_IF_ERROR(CheckDefault(top, each.field, ceilings, each.ceiling, ""));
  }
  for (int i = 0; i < config.ceilings().profiles_size(); ++i) {
    const std::string& name = config.ceilings().profiles(i);
    corral::v1::Sandbox::Profile profile;
    if (!corral::v1::Sandbox::Profile_Parse(name, &profile) ||
        profile == corral::v1::Sandbox::PROFILE_UNSPECIFIED) {
      return ceilings.Refuse("profiles", name,
                             "DEFAULT, STRICT, DEBUG or NESTED", i);
    }
  }
  const ConfigSection limits = ceilings.Nested("limits");
  RETURN_IF_ERROR(CheckRanges(limits, kLimitRanges));
  if (limits.Has("kill_all_on_oom")) {
    return limits.Refuse(
        "kill_all_on_oom",
        config.ceilings().limits().kill_all_on_oom() ? "true" : "false",
        "in default_limits only");
  }
  for (const FieldRange& each : kLimitRanges) {
    RETURN_IF_ERROR(CheckDefault(top.Nested("default_limits"), each.field,
                                 limits, each.field, "limits."));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckConfig(const ServerConfig& config, const ConfigSection& top) {
  if (top.Has("listen") && !ParseListenAddress(config.listen()).ok()) {
    return top.Refuse("listen", config.listen(), kListenAddressRule);
  }
  RETURN_IF_ERROR(top.CheckPath("state_dir"));
  RETURN_IF_ERROR(top.CheckPaths("workspace_roots"));
  for (int i = 0; i < config.mount_roots_size(); ++i) {
    const ConfigSection root = top.Nested("mount_roots", i);
    RETURN_IF_ERROR(root.CheckPresent("path", "an absolute path"));
    RETURN_IF_ERROR(root.CheckPath("path"));
  }
  RETURN_IF_ERROR(CheckRanges(top, kServerRanges));
  if (!ServerConfig::OnShutdown_IsValid(config.on_shutdown())) {
    return top.Refuse("on_shutdown", absl::StrCat(config.on_shutdown()),
                      kOnShutdownRule);
  }
  if (config.has_tls()) {
    RETURN_IF_ERROR(CheckTlsFiles(top.Nested("tls")));
  }
  if (config.has_egress()) {
    const ConfigSection egress = top.Nested("egress");
    RETURN_IF_ERROR(CheckEgressConfig(config.egress(), egress));
    RETURN_IF_ERROR(CheckServicesConfig(config.egress(), egress));
  }
  if (config.has_default_limits()) {
    RETURN_IF_ERROR(CheckDefaultLimits(config, top.Nested("default_limits")));
  }
  return config.has_ceilings() ? CheckCeilings(config, top) : absl::OkStatus();
}

}  // namespace server
