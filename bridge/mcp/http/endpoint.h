// The transport "streamable HTTP" of MCP, in both eras
// (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports).

#ifndef BRIDGE_MCP_HTTP_ENDPOINT_H_
#define BRIDGE_MCP_HTTP_ENDPOINT_H_

#include <optional>
#include <string>

#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"
#include "bridge/mcp/http/access.h"
#include "bridge/mcp/http/http_message.h"
#include "bridge/mcp/http/http_sessions.h"

namespace bridge {

inline constexpr char kEndpointPath[] = "/mcp";

// Thread-safe. A quick answer is sent as JSON. A slow one is sent as an event
// stream with progress, if the client accepts event streams.
class Endpoint : public HttpService {
 public:
  // `sessions` must outlive this object.
  Endpoint(Access access, HttpSessions* sessions)
      : access_(std::move(access)), sessions_(sessions) {}

  std::optional<HttpResponse> Refuse(const HttpRequest& request) override;
  HttpResponse Serve(const HttpRequest& request) override;

 private:
  // Serves an answer to a question of this server.
  HttpResponse ServeAnswer(const HttpRequest& request);
  HttpResponse ServeMessage(const HttpRequest& request, const Message& message);
  HttpResponse ServeStateless(const HttpRequest& request,
                              const Message& message,
                              const OrderedJson& params);
  HttpResponse Initialize(const HttpRequest& request);

  const Access access_;
  HttpSessions* const sessions_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_HTTP_ENDPOINT_H_
