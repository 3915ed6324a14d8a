#include "server/config.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "sandbox/base/status_macros.h"
#include "server/flags.h"
#include "server/net/listen_address.h"

namespace server {
namespace {

using corral::config::v1::ServerConfig;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

constexpr uint32_t kDay = 86400;
constexpr uint32_t kYear = 365 * kDay;
constexpr uint64_t kLeastOutputBytes = 1ULL << 20;
constexpr uint64_t kMostOutputBytes = 1ULL << 50;
constexpr uint64_t kDefaultOutputBytes = 4ULL << 30;
constexpr char kOnShutdownRule[] = "END_SANDBOXES, LEAVE_SANDBOXES";
constexpr uint32_t kMostSandboxes = 4096;
constexpr uint32_t kMostExecutions = 100'000;

std::string Position(const std::string& file, int line, int column) {
  return absl::StrCat(file, ":", line + 1, ":", column + 1, ": ");
}

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

// One message of a parsed file, and where its fields stand in it.
class Section {
 public:
  Section(const std::string& file, const Message& message,
          const TextFormat::ParseInfoTree* locations)
      : file_(file), message_(message), locations_(locations) {}

  absl::Status Refuse(const std::string& name, absl::string_view value,
                      absl::string_view allowed) const {
    const auto location = locations_->GetLocation(Field(name), -1);
    return absl::InvalidArgumentError(
        absl::StrCat(Position(file_, location.line, location.column), "field ",
                     name, ": value \"", value, "\"; allowed: ", allowed));
  }

  absl::Status CheckRange(const std::string& name, uint64_t least,
                          uint64_t most) const {
    const FieldDescriptor* field = Field(name);
    const auto* reflection = message_.GetReflection();
    const uint64_t value = field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32
                               ? reflection->GetUInt32(message_, field)
                               : reflection->GetUInt64(message_, field);
    if (Has(name) && (value < least || value > most)) {
      return Refuse(name, absl::StrCat(value),
                    absl::StrCat("[", least, ", ", most, "]"));
    }
    return absl::OkStatus();
  }

  // `required`: the field must be given, too.
  absl::Status CheckPath(const std::string& name, bool required) const {
    const std::string path =
        message_.GetReflection()->GetString(message_, Field(name));
    if (!path.empty() && path[0] != '/') {
      return Refuse(name, path, "an absolute path");
    }
    if (required && path.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          file_, ": field ", name, " is missing; allowed: an absolute path"));
    }
    return absl::OkStatus();
  }

  bool Has(const std::string& name) const {
    return message_.GetReflection()->HasField(message_, Field(name));
  }

  // The message in the field `name`, which must be present.
  Section Nested(const std::string& name) const {
    const Message& nested =
        message_.GetReflection()->GetMessage(message_, Field(name));
    return Section(file_, nested,
                   locations_->GetTreeForNested(Field(name), -1));
  }

 private:
  const FieldDescriptor* Field(const std::string& name) const {
    return message_.GetDescriptor()->FindFieldByName(name);
  }

  const std::string& file_;
  const Message& message_;
  const TextFormat::ParseInfoTree* locations_;
};

absl::Status CheckFile(const ServerConfig& config, const Section& top) {
  if (top.Has("listen") && !ParseListenAddress(config.listen()).ok()) {
    return top.Refuse("listen", config.listen(), kListenAddressRule);
  }
  RETURN_IF_ERROR(top.CheckPath("state_dir", /*required=*/false));
  RETURN_IF_ERROR(top.CheckRange("max_sandboxes", 1, kMostSandboxes));
  RETURN_IF_ERROR(
      top.CheckRange("max_executions_per_sandbox", 1, kMostExecutions));
  RETURN_IF_ERROR(top.CheckRange("drain_seconds", 0, kDay));
  RETURN_IF_ERROR(top.CheckRange("idle_exit_seconds", 0, kDay));
  RETURN_IF_ERROR(top.CheckRange("default_max_age_seconds", 0, kYear));
  RETURN_IF_ERROR(top.CheckRange("default_idle_timeout_seconds", 0, kYear));
  if (config.max_output_bytes() != 0) {
    RETURN_IF_ERROR(
        top.CheckRange("max_output_bytes", kLeastOutputBytes, UINT64_MAX));
  }
  if (!ServerConfig::OnShutdown_IsValid(config.on_shutdown())) {
    return top.Refuse("on_shutdown", absl::StrCat(config.on_shutdown()),
                      kOnShutdownRule);
  }
  if (config.has_tls()) {
    const Section tls = top.Nested("tls");
    for (const char* name :
         {"certificate_chain_file", "private_key_file", "client_ca_file"}) {
      RETURN_IF_ERROR(tls.CheckPath(name, /*required=*/true));
    }
  }
  if (config.has_default_limits()) {
    const Section limits = top.Nested("default_limits");
    RETURN_IF_ERROR(limits.CheckRange("memory_bytes", 4 << 20, 1ULL << 50));
    RETURN_IF_ERROR(limits.CheckRange("pids", 8, 4194304));
    RETURN_IF_ERROR(limits.CheckRange("cpu_millis", 10, 1'000'000));
    RETURN_IF_ERROR(limits.CheckRange(
        "output_bytes", kLeastOutputBytes,
        config.max_output_bytes() == 0
            ? kMostOutputBytes
            : std::min(kMostOutputBytes, config.max_output_bytes())));
  }
  return absl::OkStatus();
}

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
    if (*flags.idle_exit_seconds > kDay) {
      return absl::InvalidArgumentError(
          absl::StrCat("--idle-exit-seconds: value \"",
                       *flags.idle_exit_seconds, "\"; allowed: [0, 86400]"));
    }
    config->set_idle_exit_seconds(*flags.idle_exit_seconds);
  }
  if (flags.on_shutdown.has_value()) {
    ServerConfig::OnShutdown what = ServerConfig::END_SANDBOXES;
    if (!ServerConfig::OnShutdown_Parse(*flags.on_shutdown, &what)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--on-shutdown: value \"", *flags.on_shutdown,
                       "\"; allowed: ", kOnShutdownRule));
    }
    config->set_on_shutdown(what);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> DefaultListenAddress() {
  if (::geteuid() == 0) {
    return "unix:/run/corral/corrald.sock";
  }
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime == nullptr || runtime[0] != '/') {
    return absl::InvalidArgumentError(
        "neither --listen nor $XDG_RUNTIME_DIR says where to listen");
  }
  return absl::StrCat("unix:", runtime, "/corral/corrald.sock");
}

absl::Status ApplyDefaults(ServerConfig* config) {
  if (config->listen().empty()) {
    ASSIGN_OR_RETURN(*config->mutable_listen(), DefaultListenAddress());
  }
  if (config->state_dir().empty()) {
    config->set_state_dir("/var/lib/corral");
  }
  if (config->max_sandboxes() == 0) {
    config->set_max_sandboxes(1024);
  }
  if (config->max_executions_per_sandbox() == 0) {
    config->set_max_executions_per_sandbox(10000);
  }
  if (!config->has_drain_seconds()) {
    config->set_drain_seconds(10);
  }
  auto* limits = config->mutable_default_limits();
  if (!limits->has_memory_bytes()) {
    struct sysinfo host = {};
    if (::sysinfo(&host) != 0) {
      return absl::ErrnoToStatus(errno, "sysinfo");
    }
    limits->set_memory_bytes(uint64_t{host.totalram} * host.mem_unit / 4 * 3);
  }
  if (!limits->has_pids()) {
    limits->set_pids(4096);
  }
  if (!limits->has_output_bytes()) {
    limits->set_output_bytes(
        config->max_output_bytes() == 0
            ? kDefaultOutputBytes
            : std::min(kDefaultOutputBytes, config->max_output_bytes()));
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
  RETURN_IF_ERROR(CheckFile(config, Section(file, config, &locations)));
  RETURN_IF_ERROR(ApplyFlags(flags, &config));
  RETURN_IF_ERROR(ApplyDefaults(&config));
  RETURN_IF_ERROR(CheckTls(config));
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

corral::v1::Limits DefaultLimits(const ServerConfig& config) {
  const auto& defaults = config.default_limits();
  corral::v1::Limits limits;
  if (defaults.has_memory_bytes()) {
    limits.set_memory_bytes(defaults.memory_bytes());
  }
  if (defaults.has_pids()) {
    limits.set_pids(defaults.pids());
  }
  if (defaults.has_cpu_millis()) {
    limits.set_cpu_millis(defaults.cpu_millis());
  }
  if (defaults.has_output_bytes()) {
    limits.set_output_bytes(defaults.output_bytes());
  }
  return limits;
}

corral::v1::Lifetime DefaultLifetime(const ServerConfig& config) {
  corral::v1::Lifetime lifetime;
  if (config.default_max_age_seconds() != 0) {
    lifetime.mutable_max_age()->set_seconds(config.default_max_age_seconds());
  }
  if (config.default_idle_timeout_seconds() != 0) {
    lifetime.mutable_idle_timeout()->set_seconds(
        config.default_idle_timeout_seconds());
  }
  return lifetime;
}

}  // namespace server
