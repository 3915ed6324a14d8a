// The first message of a TLS client (RFC 8446 section 4.1.2, RFC 6066
// section 3).

#ifndef SANDBOX_EGRESS_CLIENT_HELLO_H_
#define SANDBOX_EGRESS_CLIENT_HELLO_H_

#include <string>

#include "absl/strings/string_view.h"

namespace egress {

struct ClientHello {
  enum class State {
    // More bytes are needed.
    kIncomplete,
    kMalformed,
    kComplete,
  };
  State state = State::kMalformed;
  // The name as the client sent it; empty if it sent none.
  std::string server_name;
  // True if the extension encrypted_client_hello is there, which hides another
  // name. Browsers also send it without such a name; no difference can be seen.
  bool encrypted = false;
};

// Larger messages count as malformed. Those of real clients have up to 4 KiB.
inline constexpr size_t kMaxClientHello = 32 << 10;

// Parses `bytes`, which the client has sent so far, in any number of TLS
// records.
ClientHello ParseClientHello(absl::string_view bytes);

}  // namespace egress

#endif  // SANDBOX_EGRESS_CLIENT_HELLO_H_
