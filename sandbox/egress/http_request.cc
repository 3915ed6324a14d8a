#include "sandbox/egress/http_request.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sandbox/egress/host_name.h"

namespace egress {
namespace {

constexpr absl::string_view kScheme = "http://";

bool ReadRequestLine(absl::string_view line, HttpRequest* request) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || !IsHttpToken(words[0]) || words[1].empty() ||
      (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0")) {
    return false;
  }
  request->method = std::string(words[0]);
  request->target = std::string(words[1]);
  request->version = std::string(words[2]);
  return true;
}

bool ReadBody(HttpRequest* request) {
  const auto sizes = ValuesOf(request->fields, "Content-Length");
  const auto codings = ValuesOf(request->fields, "Transfer-Encoding");
  if (sizes.size() + codings.size() > 1) {
    return false;
  }
  if (!codings.empty()) {
    request->body = HttpRequest::Body::kChunked;
    return request->version == "HTTP/1.1" &&
           absl::EqualsIgnoreCase(codings[0], "chunked");
  }
  if (!sizes.empty()) {
    request->body = HttpRequest::Body::kSized;
    return !sizes[0].empty() &&
           std::all_of(sizes[0].begin(), sizes[0].end(),
                       [](char c) { return c >= '0' && c <= '9'; }) &&
           absl::SimpleAtoi(sizes[0], &request->body_size);
  }
  return true;
}

bool ReadHead(absl::string_view head, HttpRequest* request) {
  absl::string_view line;
  return ReadHttpHead(head, &line, &request->fields) &&
         ReadRequestLine(line, request) &&
         ValuesOf(request->fields, "Host").size() <= 1 && ReadBody(request);
}

// "example.com" or "example.com:80"
std::optional<std::string> HostOfAuthority(absl::string_view authority) {
  const size_t colon = authority.find(':');
  int port;
  if (colon != absl::string_view::npos &&
      !absl::SimpleAtoi(authority.substr(colon + 1), &port)) {
    return std::nullopt;
  }
  return NormalizeHostName(authority.substr(0, colon));
}

}  // namespace

HttpRequest ParseHttpRequest(absl::string_view bytes) {
  HttpRequest request;
  const absl::string_view part = bytes.substr(0, kMaxHttpHead);
  const size_t end = part.find(kHttpHeadEnd);
  if (end != absl::string_view::npos) {
    request.head_size = end + kHttpHeadEnd.size();
    if (ReadHead(part.substr(0, end), &request)) {
      request.state = HttpRequest::State::kComplete;
    }
    return request;
  }
  // Refuses other protocols with their first line.
  const size_t line = part.find('\n');
  HttpRequest first;
  const bool may_continue =
      bytes.size() < kMaxHttpHead &&
      (line == absl::string_view::npos
           ? IsHttpToken(part.substr(0, part.find(' ')))
           : line > 0 && part[line - 1] == '\r' &&
                 ReadRequestLine(part.substr(0, line - 1), &first));
  if (may_continue) {
    request.state = HttpRequest::State::kIncomplete;
  }
  return request;
}

std::string HostOf(const HttpRequest& request) {
  const auto hosts = ValuesOf(request.fields, "Host");
  if (hosts.size() != 1) {
    return "";
  }
  const std::optional<std::string> host = HostOfAuthority(hosts[0]);
  absl::string_view target = request.target;
  if (!host.has_value() || request.method == "CONNECT") {
    return "";
  }
  if (absl::StartsWith(target, "/") || target == "*") {
    return *host;
  }
  if (!absl::StartsWithIgnoreCase(target, kScheme)) {
    return "";
  }
  target.remove_prefix(kScheme.size());
  return HostOfAuthority(target.substr(0, target.find_first_of("/?#"))) == host
             ? *host
             : "";
}

std::string MakeOnlyRequest(const HttpRequest& request) {
  HttpFields fields;
  for (const auto& field : request.fields) {
    if (!ConcernsConnection(field.first)) {
      fields.push_back(field);
    }
  }
  fields.emplace_back("Connection",
                      IsUpgrade(request) ? "close, Upgrade" : "close");
  return MakeHttpHead(
      absl::StrCat(request.method, " ", request.target, " ", request.version),
      fields);
}

bool IsUpgrade(const HttpRequest& request) {
  return Lists(request.fields, "Connection", "Upgrade") &&
         !ValuesOf(request.fields, "Upgrade").empty() &&
         // Not HTTP/2, which carries many requests over one connection.
         !Lists(request.fields, "Upgrade", "h2c");
}

}  // namespace egress
