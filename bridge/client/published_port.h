// A port of a sandbox, and the port of this machine at which it is reached.

#ifndef BRIDGE_CLIENT_PUBLISHED_PORT_H_
#define BRIDGE_CLIENT_PUBLISHED_PORT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace client {

struct PublishedPort {
  // The port in the sandbox. [1, 65535]
  uint16_t inside = 0;
  // The port on this machine. 0 means any that is free.
  uint16_t local = 0;
};

// Parses "PORT" or "PORT:LOCAL"; without LOCAL both are the same. Fails with
// InvalidArgument; the message names what is allowed.
absl::StatusOr<PublishedPort> ParsePublishedPort(absl::string_view text);

}  // namespace client

#endif  // BRIDGE_CLIENT_PUBLISHED_PORT_H_
