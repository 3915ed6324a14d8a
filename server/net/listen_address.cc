#include "server/net/listen_address.h"

#include <sys/un.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace server {
namespace {

constexpr size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;

absl::Status Refuse(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("value \"", text, "\"; allowed: ", kListenAddressRule));
}

}  // namespace

absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text) {
  ListenAddress address;
  absl::string_view path = text;
  if (absl::ConsumePrefix(&path, "unix:")) {
    if (!absl::StartsWith(path, "/") || path.size() > kMaxSocketPath) {
      return Refuse(text);
    }
    address.socket_path = std::string(path);
    return address;
  }
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(text.substr(colon + 1), &port) || port == 0 ||
      port > UINT16_MAX) {
    return Refuse(text);
  }
  address.host_and_port = std::string(text);
  return address;
}

}  // namespace server
