#include "server/config.h"

#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corral/config/v1/server_config.pb.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "sandbox/base/status_macros.h"
#include "server/api/conversion.h"
#include "server/api/ranges.h"
#include "server/config_defaults.h"
#include "server/config_egress.h"
#include "server/config_rules.h"
#include "server/config_section.h"
#include "server/config_services.h"
#include "server/flags.h"
#include "server/net/listen_address.h"

namespace server {
namespace {

using corral::config::v1::ServerConfig;
using google::protobuf::TextFormat;

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(const std::string& file) : file_(file) {}

  void AddError(int line, int column, const std::string& message) override {
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat(Position(file_, line, column), message));
    }
  }
  const absl::Status& status() const { return status_; }

 private:
  const std::string file_;
  absl::Status status_;
};

absl::Status ApplyFlags(const Flags& flags, ServerConfig* config) {
  if (flags.listen.has_value()) {
    if (!ParseListenAddress(*flags.listen).ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--listen: value \"", *flags.listen,
                       "\"; allowed: ", kListenAddressRule));
    }
    config->set_listen(*flags.listen);
  }
  if (flags.state_dir.has_value()) {
    if (!absl::StartsWith(*flags.state_dir, "/")) {
      return absl::InvalidArgumentError(
          absl::StrCat("--state-dir: value \"", *flags.state_dir,
                       "\"; allowed: an absolute path"));
    }
    config->set_state_dir(*flags.state_dir);
  }
  if (flags.idle_exit_seconds.has_value()) {
    if (*flags.idle_exit_seconds > kSecondsOfADay) {
      return absl::InvalidArgumentError(
          absl::StrCat("--idle-exit-seconds: value \"",
                       *flags.idle_exit_seconds, "\"; allowed: [0, 86400]"));
    }
    config->set_idle_exit_seconds(*flags.idle_exit_seconds);
  }
  if (flags.on_shutdown.has_value()) {
    ServerConfig::OnShutdown what;
    if (!ServerConfig::OnShutdown_Parse(*flags.on_shutdown, &what)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--on-shutdown: value \"", *flags.on_shutdown,
                       "\"; allowed: ", kOnShutdownRule));
    }
    config->set_on_shutdown(what);
  }
  return absl::OkStatus();
}

// Over TCP, a client's certificate alone gives it no way out: the configuration
// must allow one. An empty ceiling allows none.
absl::Status CloseWayOutOverTcp(ServerConfig* config) {
  ASSIGN_OR_RETURN(const ListenAddress address,
                   ParseListenAddress(config->listen()));
  if (!address.is_socket()) {
    config->mutable_ceilings()->mutable_egress();
  }
  return absl::OkStatus();
}

absl::Status CheckTls(const ServerConfig& config) {
  ASSIGN_OR_RETURN(const ListenAddress address,
                   ParseListenAddress(config.listen()));
  if (!address.is_socket() && !config.has_tls()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "listen ", config.listen(),
        ": only with mutual TLS, and the configuration has no field tls"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ServerConfig> ParseConfig(const std::string& file,
                                         const std::string& text,
                                         const Flags& flags) {
  ServerConfig config;
  FirstError errors(file);
  TextFormat::ParseInfoTree locations;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&locations);
  if (!parser.ParseFromString(text, &config)) {
    return errors.status();
  }
  RETURN_IF_ERROR(CheckConfig(config, ConfigSection(file, config, &locations)));
  RETURN_IF_ERROR(ApplyFlags(flags, &config));
  RETURN_IF_ERROR(ApplyDefaults(&config));
  RETURN_IF_ERROR(CheckTls(config));
  RETURN_IF_ERROR(CloseWayOutOverTcp(&config));
  return config;
}

absl::StatusOr<ServerConfig> LoadConfig(const Flags& flags) {
  if (!flags.config_file.has_value()) {
    return ParseConfig("", "", flags);
  }
  std::ifstream stream(*flags.config_file);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) {
    return absl::InvalidArgumentError(
        absl::StrCat("--config: cannot read ", *flags.config_file));
  }
  return ParseConfig(*flags.config_file, text.str(), flags);
}

SandboxDefaults DefaultsOf(const ServerConfig& config) {
  SandboxDefaults defaults;
  const auto& limits = config.default_limits();
  if (limits.has_memory_bytes()) {
    defaults.limits.set_memory_bytes(limits.memory_bytes());
  }
  if (limits.has_pids()) {
    defaults.limits.set_pids(limits.pids());
  }
  if (limits.has_cpu_millis()) {
    defaults.limits.set_cpu_millis(limits.cpu_millis());
  }
  if (limits.has_output_bytes()) {
    defaults.limits.set_output_bytes(limits.output_bytes());
  }
  if (limits.has_kill_all_on_oom()) {
    defaults.limits.set_kill_all_on_oom(limits.kill_all_on_oom());
  }
  if (limits.has_file_bytes()) {
    defaults.limits.set_file_bytes(limits.file_bytes());
  }
  if (limits.has_disk_bytes_per_second()) {
    defaults.limits.set_disk_bytes_per_second(limits.disk_bytes_per_second());
  }
  if (limits.has_disk_operations_per_second()) {
    defaults.limits.set_disk_operations_per_second(
        limits.disk_operations_per_second());
  }
  if (limits.has_disk_bytes()) {
    defaults.limits.set_disk_bytes(limits.disk_bytes());
  }
  if (limits.has_disk_inodes()) {
    defaults.limits.set_disk_inodes(limits.disk_inodes());
  }
  if (config.default_max_age_seconds() != 0) {
    defaults.lifetime.mutable_max_age()->set_seconds(
        config.default_max_age_seconds());
  }
  if (config.default_idle_timeout_seconds() != 0) {
    defaults.lifetime.mutable_idle_timeout()->set_seconds(
        config.default_idle_timeout_seconds());
  }
  defaults.retention.set_max_ended_executions(
      config.default_max_ended_executions());
  defaults.retention.mutable_max_ended_age()->set_seconds(
      config.default_max_ended_age_seconds());
  defaults.egress = ToEgress(config.egress());
  AddServices(config, &defaults.egress);
  return defaults;
}

}  // namespace server
