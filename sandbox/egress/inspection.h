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

  // For kRefused: the reason, and the name that the client gave instead of the
  // host's.
  ::corral::egress::v1::Event::Reason reason =
      ::corral::egress::v1::Event::NOT_WEB;
  std::string claimed;

  // For kAccepted: the bytes that go out first, in place of those so far, and
  // the number of further bytes that may follow. `body` and `answer` decide
  // which bytes of the client and of the host pass; if null, all pass.
  std::string first;
  uint64_t rest = kUnlimited;
  std::unique_ptr<ByteFilter> body;
  std::unique_ptr<ByteFilter> answer;
};

// Inspects `bytes`, which the client has sent so far to the host `name`, which
// is normalized.
Inspection Inspect(absl::string_view bytes, absl::string_view name);

}  // namespace egress

#endif  // SANDBOX_EGRESS_INSPECTION_H_
