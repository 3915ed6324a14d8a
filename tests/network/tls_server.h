// A TLS server of a test's own, with a certificate authority of its own.

#ifndef TESTS_NETWORK_TLS_SERVER_H_
#define TESTS_NETWORK_TLS_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "openssl/ssl.h"
#include "tests/network/upstream_server.h"

namespace tests {

// One accepted connection. Used by one thread only.
class TlsConnection {
 public:
  explicit TlsConnection(SSL* ssl) : ssl_(ssl) {}

  // Reads until all bytes so far end with `end`, or to the end of the stream.
  std::string ReadUntil(absl::string_view end);
  // Returns false if the connection is broken.
  bool Send(absl::string_view bytes);
  // Ends the connection without the end of TLS.
  void Cut();
  // True if the peer has ended its side as TLS says.
  bool ended() const {
    return (::SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  // Waits for the end of the connection below TLS: false if it is reset.
  bool AwaitClose() const;
  // The protocol inside TLS that both sides agreed on.
  std::string protocol() const;
  // The number of the version, such as TLS1_3_VERSION.
  int version() const { return ::SSL_version(ssl_); }
  const char* server_name() const {
    return ::SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
  }

 private:
  SSL* const ssl_;
};

// Listens on 127.0.0.1, and knows "http/1.1" alone. Thread-safe.
class TlsServer {
 public:
  // See UpstreamServer::Serve. The connection is closed regularly afterwards.
  using Serve = std::function<void(TlsConnection&)>;

  struct Options {
    // The name in the certificate.
    std::string name = "api.example";
    int most_version = TLS1_3_VERSION;
    // True if it ended yesterday.
    bool expired = false;
  };

  explicit TlsServer(Serve serve) : TlsServer(std::move(serve), Options()) {}
  TlsServer(Serve serve, const Options& options);

  uint16_t port() const { return server_->port(); }
  // The certificate of the authority, in PEM.
  const std::string& authority() const { return authority_; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
  };

  void Accept(int socket);

  const Serve serve_;
  const std::unique_ptr<SSL_CTX, Free> context_;
  std::string authority_;
  // Destroyed first, since its threads use the others.
  std::unique_ptr<UpstreamServer> server_;
};

}  // namespace tests

#endif  // TESTS_NETWORK_TLS_SERVER_H_
