#include "sandbox/egress/http_request.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sandbox/egress/host_name.h"

namespace egress {
namespace {

constexpr absl::string_view kLineEnd = "\r\n";
constexpr absl::string_view kHeadEnd = "\r\n\r\n";
constexpr absl::string_view kScheme = "http://";

// token of RFC 9110.
bool IsToken(absl::string_view text) {
  constexpr absl::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains(kMarks, c);
  });
}

bool IsControl(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

bool HasControl(absl::string_view text) {
  return std::any_of(text.begin(), text.end(), IsControl);
}

bool ReadRequestLine(absl::string_view line, HttpRequest* request) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || !IsToken(words[0]) || words[1].empty() ||
      (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0")) {
    return false;
  }
  request->method = std::string(words[0]);
  request->target = std::string(words[1]);
  request->version = std::string(words[2]);
  return true;
}

bool ReadField(absl::string_view line, HttpRequest* request) {
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos || !IsToken(line.substr(0, colon))) {
    return false;
  }
  request->fields.emplace_back(
      std::string(line.substr(0, colon)),
      std::string(absl::StripAsciiWhitespace(line.substr(colon + 1))));
  return true;
}

// The values of all fields of this name.
std::vector<absl::string_view> ValuesOf(const HttpRequest& request,
                                        absl::string_view name) {
  std::vector<absl::string_view> values;
  for (const auto& [field, value] : request.fields) {
    if (absl::EqualsIgnoreCase(field, name)) {
      values.push_back(value);
    }
  }
  return values;
}

// A comma-separated list has this element.
bool Lists(const HttpRequest& request, absl::string_view name,
           absl::string_view element) {
  for (const absl::string_view value : ValuesOf(request, name)) {
    for (const absl::string_view part : absl::StrSplit(value, ',')) {
      if (absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(part), element)) {
        return true;
      }
    }
  }
  return false;
}

bool ReadBody(HttpRequest* request) {
  const auto sizes = ValuesOf(*request, "Content-Length");
  const auto codings = ValuesOf(*request, "Transfer-Encoding");
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
  std::vector<absl::string_view> lines = absl::StrSplit(head, kLineEnd);
  if (std::any_of(lines.begin(), lines.end(), HasControl) ||
      !ReadRequestLine(lines[0], request)) {
    return false;
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    if (!ReadField(lines[i], request)) {
      return false;
    }
  }
  return ValuesOf(*request, "Host").size() <= 1 && ReadBody(request);
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
  const size_t end = part.find(kHeadEnd);
  if (end != absl::string_view::npos) {
    request.head_size = end + kHeadEnd.size();
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
           ? IsToken(part.substr(0, part.find(' ')))
           : line > 0 && part[line - 1] == '\r' &&
                 ReadRequestLine(part.substr(0, line - 1), &first));
  if (may_continue) {
    request.state = HttpRequest::State::kIncomplete;
  }
  return request;
}

std::string HostOf(const HttpRequest& request) {
  const auto hosts = ValuesOf(request, "Host");
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
  std::string head = absl::StrCat(request.method, " ", request.target, " ",
                                  request.version, kLineEnd);
  for (const auto& [name, value] : request.fields) {
    if (!absl::EqualsIgnoreCase(name, "Connection") &&
        !absl::EqualsIgnoreCase(name, "Keep-Alive") &&
        !absl::EqualsIgnoreCase(name, "Proxy-Connection")) {
      absl::StrAppend(&head, name, ": ", value, kLineEnd);
    }
  }
  absl::StrAppend(&head, "Connection: close",
                  IsUpgrade(request) ? ", Upgrade" : "", kHeadEnd);
  return head;
}

bool IsUpgrade(const HttpRequest& request) {
  return Lists(request, "Connection", "Upgrade") &&
         !ValuesOf(request, "Upgrade").empty() &&
         // HTTP/2 carries many requests.
         !Lists(request, "Upgrade", "h2c");
}

}  // namespace egress
