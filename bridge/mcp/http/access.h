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

// Reads a token: the content of the file, without white space around it.
// InvalidArgument: the file can be read by others than its owner, or the token
// has fewer than 16 characters, or a character that is not printable ASCII.
absl::StatusOr<std::string> ReadToken(const std::string& file);

// Thread-safe, because it never changes.
class Access {
 public:
  // `token`: every request must carry it. Empty: only programs of this user and
  // of root are served, and only at a loopback address.
  explicit Access(std::string token) : token_(std::move(token)) {}

  // Unauthenticated: the token is missing or wrong. PermissionDenied: the
  // request comes from a web page or from another user.
  absl::Status Check(const HttpRequest& request) const;

 private:
  absl::Status CheckToken(const HttpRequest& request) const;

  const std::string token_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_HTTP_ACCESS_H_
