// Listens, and passes the requests of HTTP clients to a service.

#ifndef BRIDGE_MCP_HTTP_HTTP_SERVER_H_
#define BRIDGE_MCP_HTTP_HTTP_SERVER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "bridge/mcp/http/http_address.h"
#include "bridge/mcp/http/http_message.h"

struct MHD_Daemon;

namespace bridge {

// Each connection has a thread of its own, on which the service is called.
class HttpServer {
 public:
  // `service` must outlive the object. Unavailable and others: the server
  // cannot listen at this address.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      const HttpAddress& address, HttpService* service);
  // Waits until all calls of the service have returned and all responses are
  // sent. It waits for ever for a response in parts that has no end.
  ~HttpServer();

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The address, with the port that was chosen if it had none.
  const HttpAddress& address() const { return address_; }

  static constexpr size_t kMaxBody = 4 << 20;
  // Connections beyond this number are closed at once.
  static constexpr unsigned kMaxConnections = 128;
  // A client that sends nothing for this long is disconnected.
  static constexpr unsigned kIdleSeconds = 60;

 private:
  HttpServer(HttpAddress address, HttpService* service)
      : address_(address), service_(service) {}

  HttpAddress address_;
  HttpService* const service_;
  MHD_Daemon* daemon_ = nullptr;

  friend struct HttpExchange;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_HTTP_HTTP_SERVER_H_
