#include "bridge/mcp/http/access.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "bridge/mcp/http/loopback_peer.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {
namespace {

constexpr size_t kMinToken = 16;
constexpr size_t kMaxToken = 4096;
constexpr mode_t kOthers = 077;

// "localhost:8080" -> "localhost", "[::1]:8080" -> "[::1]"
std::string WithoutPort(const std::string& host) {
  const size_t colon = host.rfind(':');
  return colon == host.npos || absl::EndsWith(host, "]")
             ? host
             : host.substr(0, colon);
}

// A web page can make its own host name resolve to this machine (DNS
// rebinding). So only a client that used a name of this machine is trusted.
bool NamesThisMachine(const std::string& host) {
  const std::string name = absl::AsciiStrToLower(WithoutPort(host));
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

}  // namespace

absl::StatusOr<std::string> ReadToken(const std::string& file) {
  const sandbox::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about = {};
  if (!fd.valid() || ::fstat(fd.get(), &about) != 0) {
    return absl::ErrnoToStatus(errno, file);
  }
  if ((about.st_mode & kOthers) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, " can be used by others than its owner; chmod 600 it"));
  }
  std::string token(kMaxToken, '\0');
  const ssize_t got = ::read(fd.get(), token.data(), token.size());
  if (got < 0) {
    return absl::ErrnoToStatus(errno, file);
  }
  token.resize(got);
  absl::StripAsciiWhitespace(&token);
  if (token.size() < kMinToken ||
      !std::all_of(token.begin(), token.end(),
                   [](unsigned char c) { return absl::ascii_isgraph(c); })) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, " must hold one token of at least ", kMinToken,
                     " printable characters"));
  }
  return token;
}

absl::Status Access::CheckToken(const HttpRequest& request) const {
  const std::string field = request.Field("authorization");
  absl::string_view shown = field;
  if (!absl::StartsWithIgnoreCase(shown, "bearer ")) {
    return absl::UnauthenticatedError("a bearer token is needed");
  }
  shown = absl::StripAsciiWhitespace(shown.substr(7));
  // Takes the same time wherever the two differ.
  if (shown.size() != token_.size() ||
      ::CRYPTO_memcmp(shown.data(), token_.data(), token_.size()) != 0) {
    return absl::UnauthenticatedError("the bearer token is wrong");
  }
  return absl::OkStatus();
}

absl::Status Access::Check(const HttpRequest& request) const {
  const std::string host = request.Field("host");
  const std::string origin = request.Field("origin");
  if (!origin.empty() && origin != absl::StrCat("http://", host) &&
      origin != absl::StrCat("https://", host)) {
    return absl::PermissionDeniedError(
        "web pages of other origins are not served");
  }
  if (!token_.empty()) {
    return CheckToken(request);
  }
  if (!NamesThisMachine(host)) {
    return absl::PermissionDeniedError(
        "the Host must be localhost, 127.0.0.1 or [::1]");
  }
  return CheckLoopbackPeer(request.client, request.server);
}

}  // namespace bridge
