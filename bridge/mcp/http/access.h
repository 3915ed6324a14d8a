// Decides who may use the terminals over HTTP.

#ifndef BRIDGE_MCP_HTTP_ACCESS_H_
#define BRIDGE_MCP_HTTP_ACCESS_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bridge/mcp/http/http_message.h"

namespace bridge {

// Reads a token: the content of the file, without white space around it. Fails
// with InvalidArgument if others than its owner can read the file, or if the
// token has fewer than 16 characters or one that is not printable ASCII.
absl::StatusOr<std::string> ReadToken(const std::string& file);

// Thread-safe, because it never changes.
class Access {
 public:
  // Every request must carry `token`. If it is empty, only programs of this
  // user and of root are served, and only at a loopback address.
  explicit Access(std::string token) : token_(std::move(token)) {}

  // Fails with Unauthenticated if the token is missing or wrong, and with
  // PermissionDenied if the request comes from a web page or from another user.
  absl::Status Check(const HttpRequest& request) const;

 private:
  absl::Status CheckToken(const HttpRequest& request) const;

  const std::string token_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_HTTP_ACCESS_H_
