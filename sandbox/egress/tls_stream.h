// The client's end of a TLS connection.

#ifndef SANDBOX_EGRESS_TLS_STREAM_H_
#define SANDBOX_EGRESS_TLS_STREAM_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "openssl/ssl.h"
#include "sandbox/egress/tls_context.h"

namespace egress {

// Nothing here waits. Not thread-safe.
class TlsStream {
 public:
  enum class Result {
    kDone,
    // Nothing can be done until the socket becomes ready: watch it
    // edge-triggered for both directions.
    kWait,
    // The upstream has ended its side regularly.
    kEnded,
    // See failure().
    kFailed,
  };

  // `socket` is connected and does not block. `host` is the name that the
  // upstream's certificate must have. Both, and `context`, must outlive the
  // stream.
  TlsStream(const TlsContext& context, int socket, const std::string& host);

  // Does a part of the handshake. Call it again while it returns kWait.
  Result Handshake();

  // These move up to all of the bytes. If they return kDone, `*moved` bytes
  // were moved, at least one.
  Result Write(absl::string_view bytes, size_t* moved);
  Result Read(char* bytes, size_t size, size_t* moved);

  // Reports the end of the data to the upstream. Does not wait for an answer.
  void EndWriting();

  // Why the certificate or the protocol failed, as text for people.
  const std::string& failure() const { return failure_; }

 private:
  struct Free {
    void operator()(SSL* ssl) const { ::SSL_free(ssl); }
  };

  Result ResultOf(int returned);

  const std::unique_ptr<SSL, Free> ssl_;
  std::string failure_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_TLS_STREAM_H_
