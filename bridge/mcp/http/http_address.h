// The address on which corral-mcp listens for HTTP.

#ifndef BRIDGE_MCP_HTTP_HTTP_ADDRESS_H_
#define BRIDGE_MCP_HTTP_HTTP_ADDRESS_H_

#include <sys/socket.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

// An IPv4 or IPv6 address and a port.
class HttpAddress {
 public:
  // "8080" (on 127.0.0.1), "0.0.0.0:8080", "[::1]:8080", "localhost:8080". Port
  // 0 lets the kernel choose.
  static absl::StatusOr<HttpAddress> Parse(absl::string_view text);
  // The address to which a socket is bound.
  static absl::StatusOr<HttpAddress> Of(int socket);

  // True if only programs on this machine can connect to it.
  bool IsLoopback() const;
  // "127.0.0.1:8080"
  std::string ToString() const;

  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&address_);
  }
  socklen_t size() const;

 private:
  explicit HttpAddress(const sockaddr_storage& address) : address_(address) {}

  sockaddr_storage address_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_HTTP_HTTP_ADDRESS_H_
