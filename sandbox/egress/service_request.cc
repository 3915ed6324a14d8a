#include "sandbox/egress/service_request.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace egress {
namespace {

constexpr uint32_t kHttps = 443;
constexpr absl::string_view kSeparator = "://";

// Fields of the client that do not go on.
constexpr absl::string_view kReplaced[] = {
    "authorization", "connection",          "host", "http2-settings",
    "keep-alive",    "proxy-authorization", "te",   "upgrade",
    "x-api-key",     "proxy-connection",
};
// Fields that pass only if their names are written with "-", not with "_".
constexpr absl::string_view kFraming[] = {"content-length",
                                          "transfer-encoding"};

// Some servers read "_" as "-".
std::string Normalized(absl::string_view name) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}});
}

bool GoesOn(absl::string_view name, const Service& service) {
  const std::string normalized = Normalized(name);
  return normalized != Normalized(service.header) &&
         !absl::c_linear_search(kReplaced, normalized) &&
         (!absl::c_linear_search(kFraming, normalized) ||
          !absl::StrContains(name, '_'));
}

// The path of a URL, or the target itself.
std::string PathOf(absl::string_view target) {
  if (target[0] == '/' || target == "*") {
    return std::string(target);
  }
  target.remove_prefix(target.find(kSeparator) + kSeparator.size());
  const size_t end = target.find_first_of("/?#");
  if (end == absl::string_view::npos) {
    return "/";
  }
  const absl::string_view path = target.substr(end);
  return absl::StrCat(path[0] == '/' ? "" : "/", path);
}

}  // namespace

std::string MakeServiceRequest(const HttpRequest& request,
                               const Service& service,
                               absl::string_view value) {
  HttpFields fields = {
      {"Host", service.port == kHttps
                   ? service.host
                   : absl::StrCat(service.host, ":", service.port)}};
  for (const auto& field : request.fields) {
    if (GoesOn(field.first, service)) {
      fields.push_back(field);
    }
  }
  fields.emplace_back(service.header, value);
  fields.emplace_back("Connection", "close");
  return MakeHttpHead(absl::StrCat(request.method, " ", PathOf(request.target),
                                   " ", request.version),
                      fields);
}

}  // namespace egress
