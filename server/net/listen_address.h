// The address on which the server listens: "unix:PATH" or "HOST:PORT".

#ifndef SERVER_NET_LISTEN_ADDRESS_H_
#define SERVER_NET_LISTEN_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace server {

inline constexpr char kListenAddressRule[] =
    "unix:PATH (absolute, at most 107 bytes) or HOST:PORT (port 1 to 65535)";

struct ListenAddress {
  // One of the two is set.
  std::string socket_path;
  std::string host_and_port;

  bool is_socket() const { return !socket_path.empty(); }
};

// Fails with InvalidArgument if `text` is neither.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text);

}  // namespace server

#endif  // SERVER_NET_LISTEN_ADDRESS_H_
