#include "bridge/client/server_address.h"

#include <sys/un.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "sandbox/base/status_macros.h"

namespace client {
namespace {

absl::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<std::string> DefaultSocketPath() {
  if (::geteuid() == 0) {
    return "/run/corral/corrald.sock";
  }
  const absl::string_view runtime = Environment("XDG_RUNTIME_DIR");
  if (runtime.empty()) {
    return absl::FailedPreconditionError(
        "the default socket is in $XDG_RUNTIME_DIR, which is not set; set it, "
        "or name a server with --server or CORRAL_SERVER");
  }
  return absl::StrCat(runtime, "/corral/corrald.sock");
}

absl::StatusOr<ServerAddress> UnixAddress(absl::string_view path) {
  // "unix:///run/x" is the URI form of "unix:/run/x".
  if (absl::StartsWith(path, "//")) {
    path.remove_prefix(2);
  }
  ServerAddress address;
  address.socket_path = std::string(path);
  if (!absl::StartsWith(path, "/")) {
    char directory[PATH_MAX];
    if (::getcwd(directory, sizeof directory) == nullptr) {
      return absl::ErrnoToStatus(errno, "getcwd");
    }
    address.socket_path = absl::StrCat(directory, "/", path);
  }
  if (address.socket_path.size() >= sizeof(sockaddr_un{}.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("server \"unix:", path, "\": a socket's path has at most ",
                     sizeof(sockaddr_un{}.sun_path) - 1, " bytes"));
  }
  address.text = absl::StrCat("unix:", address.socket_path);
  return address;
}

bool IsHostAndPort(absl::string_view text) {
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  return colon != absl::string_view::npos && colon > 0 &&
         !absl::StrContains(text, "/") &&
         absl::SimpleAtoi(text.substr(colon + 1), &port) && port >= 1 &&
         port <= 65535;
}

}  // namespace

absl::StatusOr<ServerAddress> ResolveServerAddress(absl::string_view option) {
  const absl::string_view named =
      option.empty() ? Environment("CORRAL_SERVER") : option;
  if (named.empty()) {
    ASSIGN_OR_RETURN(std::string path, DefaultSocketPath());
    ASSIGN_OR_RETURN(ServerAddress address, UnixAddress(path));
    address.is_default = true;
    return address;
  }
  if (absl::StartsWith(named, "unix:") && named != "unix:") {
    return UnixAddress(absl::StripPrefix(named, "unix:"));
  }
  if (!IsHostAndPort(named)) {
    return absl::InvalidArgumentError(
        absl::StrCat("server \"", named,
                     "\": allowed is unix:PATH or HOST:PORT (port 1-65535)"));
  }
  ServerAddress address;
  address.text = std::string(named);
  return address;
}

}  // namespace client
