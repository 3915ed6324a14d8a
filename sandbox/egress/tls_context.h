// Settings that TLS connections to upstreams of services have in common.

#ifndef SANDBOX_EGRESS_TLS_CONTEXT_H_
#define SANDBOX_EGRESS_TLS_CONTEXT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "openssl/ssl.h"

namespace egress {

// TLS 1.2 or later; the upstream must show a certificate of a known authority.
// ALPN offers HTTP/1.1 alone. Not thread-safe.
class TlsContext {
 public:
  // `authorities` has certificates in PEM. Fails with InvalidArgument if it has
  // none, or a malformed one.
  static absl::StatusOr<std::unique_ptr<TlsContext>> Create(
      const std::string& authorities);

  SSL_CTX* get() const { return context_.get(); }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
  };

  explicit TlsContext(SSL_CTX* context) : context_(context) {}

  std::unique_ptr<SSL_CTX, Free> context_;
};

// The authorities of the host in PEM; empty if it has none. Blocks on the disk.
std::string HostAuthorities();

// All bytes of a file; empty if it cannot be read. Blocks on the disk.
std::string ReadAuthorities(int file);

}  // namespace egress

#endif  // SANDBOX_EGRESS_TLS_CONTEXT_H_
