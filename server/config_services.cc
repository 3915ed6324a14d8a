#include "server/config_services.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/paths.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/egress/host_name.h"
#include "server/api/egress_services.h"
#include "server/api/names.h"
#include "server/api/ranges.h"

namespace server {
namespace {

using corral::config::v1::Egress;
using corral::config::v1::EgressService;

constexpr Range kPorts = {1, UINT16_MAX};
constexpr uint32_t kHttps = 443;
constexpr size_t kMaxHeader = 64;
constexpr size_t kMaxPrefix = 64;
constexpr int kMaxWords = 64;
constexpr char kUpstreamRule[] = "HOST or HOST:PORT, a host name";
constexpr char kHeaderRule[] =
    "the name of a header, at most 64 letters, digits and \"-\"; none that "
    "frames messages or concerns the connection";
constexpr absl::string_view kFraming[] = {
    "connection",        "content-length",   "expect", "host",
    "keep-alive",        "proxy-connection", "te",     "trailer",
    "transfer-encoding", "upgrade",
};

struct Upstream {
  std::string host;
  uint32_t port = kHttps;
};

std::optional<Upstream> ParseUpstream(absl::string_view text) {
  Upstream upstream;
  const size_t colon = text.find(':');
  if (colon != absl::string_view::npos &&
      (!absl::SimpleAtoi(text.substr(colon + 1), &upstream.port) ||
       !kPorts.Contains(upstream.port))) {
    return std::nullopt;
  }
  const auto host = egress::NormalizeHostName(text.substr(0, colon));
  upstream.host = host.value_or("");
  return host.has_value() ? std::make_optional(upstream) : std::nullopt;
}

bool IsHeader(const std::string& text) {
  return !text.empty() && text.size() <= kMaxHeader &&
         absl::c_all_of(text,
                        [](unsigned char c) {
                          return absl::ascii_isalnum(c) || c == '-';
                        }) &&
         !absl::c_linear_search(kFraming, absl::AsciiStrToLower(text));
}

bool IsPrintable(absl::string_view text) {
  return absl::c_all_of(text,
                        [](unsigned char c) { return absl::ascii_isprint(c); });
}

absl::Status CheckSource(const EgressService& service,
                         const ConfigSection& section) {
  if (service.value_file().empty() == service.value_command().empty()) {
    return section.Refuse("value_file", service.value_file(),
                          "exactly one of value_file and value_command");
  }
  RETURN_IF_ERROR(section.CheckPath("value_file"));
  if (sandbox::IsWithin(service.value_file(), "/usr")) {
    return section.Refuse("value_file", service.value_file(),
                          "a file outside of /usr, which every sandbox sees");
  }
  for (int i = 0; i < service.value_command_size(); ++i) {
    const std::string& word = service.value_command(i);
    if (i == 0 && !absl::StartsWith(word, "/")) {
      return section.Refuse("value_command", word,
                            "the absolute path of a program first", i);
    }
    if (i >= kMaxWords || absl::StrContains(word, '\0')) {
      return section.Refuse("value_command", word,
                            "at most 64 words without a NUL byte", i);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckService(const EgressService& service,
                          const ConfigSection& section) {
  RETURN_IF_ERROR(section.CheckPresent("upstream", kUpstreamRule));
  if (!ParseUpstream(service.upstream()).has_value()) {
    return section.Refuse("upstream", service.upstream(), kUpstreamRule);
  }
  RETURN_IF_ERROR(section.CheckPresent("header", kHeaderRule));
  if (!IsHeader(service.header())) {
    return section.Refuse("header", service.header(), kHeaderRule);
  }
  RETURN_IF_ERROR(CheckSource(service, section));
  if (service.value_prefix().size() > kMaxPrefix ||
      !IsPrintable(service.value_prefix())) {
    return section.Refuse("value_prefix", service.value_prefix(),
                          "at most 64 printable ASCII characters");
  }
  return section.CheckPath("ca_file");
}

bool IsAllowed(const corral::config::v1::ServerConfig& config,
               const std::string& name) {
  return !config.ceilings().has_egress() ||
         absl::c_linear_search(config.ceilings().egress().services(), name);
}

}  // namespace

absl::Status CheckServicesConfig(const Egress& egress,
                                 const ConfigSection& section) {
  std::set<std::string> names;
  for (int i = 0; i < egress.services_size(); ++i) {
    const EgressService& service = egress.services(i);
    const ConfigSection nested = section.Nested("services", i);
    RETURN_IF_ERROR(nested.CheckPresent("name", "a label of a host name"));
    if (i >= kMaxEgressServices) {
      return nested.Refuse("name", service.name(), "at most 64 services");
    }
    if (!IsValidId(service.name())) {
      return nested.Refuse("name", service.name(),
                           "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?");
    }
    if (!names.insert(service.name()).second) {
      return nested.Refuse("name", service.name(),
                           "a name that no service before has");
    }
    RETURN_IF_ERROR(CheckService(service, nested));
  }
  return absl::OkStatus();
}

absl::Status CheckServicesCeiling(
    const corral::config::v1::EgressCeiling& ceiling, const Egress& egress,
    const ConfigSection& section) {
  for (int i = 0; i < ceiling.services_size(); ++i) {
    const std::string& name = ceiling.services(i);
    if (absl::c_none_of(egress.services(), [&](const EgressService& service) {
          return service.name() == name;
        })) {
      return section.Refuse("services", name,
                            "the name of one of egress.services", i);
    }
  }
  return absl::OkStatus();
}

void AddServices(const corral::config::v1::ServerConfig& config,
                 corral::supervisor::v1::Egress* egress) {
  for (const EgressService& service : config.egress().services()) {
    if (!IsAllowed(config, service.name())) {
      continue;
    }
    const std::optional<Upstream> upstream = ParseUpstream(service.upstream());
    auto* const made = egress->mutable_policy()->add_services();
    made->set_name(service.name());
    made->set_host(upstream->host);
    made->set_port(upstream->port);
    made->set_header(service.header());
    made->set_own_authorities(!service.ca_file().empty());
    auto* const source = egress->add_credentials();
    source->set_service(service.name());
    source->set_file(service.value_file());
    *source->mutable_command() = service.value_command();
    source->set_prefix(service.value_prefix());
    source->set_ca_file(service.ca_file());
  }
}

}  // namespace server
