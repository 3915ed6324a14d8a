// The head of an HTTP/1 request (RFC 9112).

#ifndef SANDBOX_EGRESS_HTTP_REQUEST_H_
#define SANDBOX_EGRESS_HTTP_REQUEST_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/egress/http_fields.h"

namespace egress {

struct HttpRequest {
  enum class State {
    // More bytes are needed.
    kIncomplete,
    kMalformed,
    kComplete,
  };
  State state = State::kMalformed;

  std::string method;
  // A path, a URL, "*", or for CONNECT an authority, as it was sent.
  std::string target;
  std::string version;
  HttpFields fields;
  // The size of the head with its empty line.
  size_t head_size = 0;

  enum class Body { kNone, kSized, kChunked };
  Body body = Body::kNone;
  // The size of a body that is kSized.
  uint64_t body_size = 0;
};

// Parses `bytes`, which the client has sent so far. Strict where servers
// disagree, so that no server can read the bytes as a different request: lines
// end in CR LF, names of fields have no spaces, no line is folded, Host and the
// size of the body are given once.
HttpRequest ParseHttpRequest(absl::string_view bytes);

// The host that the request names, normalized: that of the URL if the target is
// a URL, in which case Host must equal it. Empty: none, no host name, or two
// different ones.
std::string HostOf(const HttpRequest& request);

// Returns the head with "Connection: close", so that no unchecked request
// follows on the connection.
std::string MakeOnlyRequest(const HttpRequest& request);

// True if the client asks to change the protocol, for example to WebSocket.
bool IsUpgrade(const HttpRequest& request);

}  // namespace egress

#endif  // SANDBOX_EGRESS_HTTP_REQUEST_H_
