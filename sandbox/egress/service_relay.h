// Moves the bytes of one request to a service and those of its answer.

#ifndef SANDBOX_EGRESS_SERVICE_RELAY_H_
#define SANDBOX_EGRESS_SERVICE_RELAY_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sandbox/egress/answer_head.h"
#include "sandbox/egress/http_request.h"
#include "sandbox/egress/request_body.h"
#include "sandbox/egress/tls_stream.h"

namespace egress {

// Holds a few reads of bytes at most, so a slow receiver stops the sender. Not
// thread-safe.
class ServiceRelay {
 public:
  enum class State {
    kOpen,
    // The whole answer has reached the client.
    kEnded,
    // A side broke off, or its bytes are malformed.
    kBroken,
  };

  // `client` does not block; it and `upstream`, whose handshake is done,
  // outlive the relay. `head` goes to the upstream, then the body of `request`,
  // of which `begun` was received.
  ServiceRelay(int client, TlsStream* upstream, const HttpRequest& request,
               std::string head, absl::string_view begun);

  // Moves about `budget` bytes at most. True: call it again soon. False: call
  // it when one of the sockets becomes ready; watch them edge-triggered.
  bool Move(size_t budget);

  State state() const { return state_; }
  uint64_t sent() const { return sent_; }
  uint64_t received() const { return received_; }
  // The status of the answer; 0: its head has not come yet.
  int status() const { return answer_.status(); }

 private:
  // Each returns how many bytes it moved; 0: it can go no further now.
  size_t MoveUp();
  size_t MoveDown();
  size_t SendUp();
  size_t ReadBody();
  size_t SendDown();
  size_t ReadAnswer();
  // Takes what recv(2) returned for a client that may have closed its side.
  size_t Received(ssize_t got);

  const int client_;
  TlsStream* const upstream_;
  State state_ = State::kOpen;
  RequestBody body_;
  AnswerHead answer_;
  // Bytes that wait for the upstream and for the client.
  std::string up_;
  std::string down_;
  bool client_closed_ = false;
  bool upstream_ended_ = false;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_SERVICE_RELAY_H_
