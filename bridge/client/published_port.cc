#include "bridge/client/published_port.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"

namespace client {
namespace {

constexpr uint32_t kLastPort = 65535;

// Only digits: SimpleAtoi would take signs and spaces, too.
bool ParsePort(absl::string_view text, uint32_t least, uint16_t* port) {
  uint32_t number = 0;
  const bool digits = std::all_of(text.begin(), text.end(), [](char letter) {
    return letter >= '0' && letter <= '9';
  });
  if (!digits || !absl::SimpleAtoi(text, &number) || number < least ||
      number > kLastPort) {
    return false;
  }
  *port = static_cast<uint16_t>(number);
  return true;
}

}  // namespace

absl::StatusOr<PublishedPort> ParsePublishedPort(absl::string_view text) {
  const size_t colon = text.find(':');
  PublishedPort port;
  if (!ParsePort(text.substr(0, colon), 1, &port.inside)) {
    return absl::InvalidArgumentError(
        "allowed is PORT or PORT:LOCAL, with a PORT of 1 to 65535");
  }
  port.local = port.inside;
  if (colon != absl::string_view::npos &&
      !ParsePort(text.substr(colon + 1), 0, &port.local)) {
    return absl::InvalidArgumentError(
        "allowed is a LOCAL of 0 (any free port) to 65535");
  }
  return port;
}

}  // namespace client
