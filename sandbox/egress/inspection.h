// Decides from the first bytes of a connection whether the client speaks to the
// host whose address it dialled.

#ifndef SANDBOX_EGRESS_INSPECTION_H_
#define SANDBOX_EGRESS_INSPECTION_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/egress/byte_filter.h"

namespace egress {

inline constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

struct Inspection {
  enum class State {
    // More bytes are needed.
    kIncomplete,
    kRefused,
    kAccepted,
  };
  State state = State::kRefused;

  // For kRefused, and what the client named instead of the host.
  ::corral::egress::v1::Event::Reason reason =
      ::corral::egress::v1::Event::NOT_WEB;
  std::string claimed;

  // For kAccepted: what goes out first, in place of the bytes so far, and how
  // many more bytes of the client may follow, as far as `body` lets them.
  std::string first;
  uint64_t rest = kUnlimited;
  // Null: all bytes go on.
  std::unique_ptr<ByteFilter> body;
  std::unique_ptr<ByteFilter> answer;
};

// `bytes`: what the client has sent so far. `name`: the host, normalized.
Inspection Inspect(absl::string_view bytes, absl::string_view name);

}  // namespace egress

#endif  // SANDBOX_EGRESS_INSPECTION_H_
