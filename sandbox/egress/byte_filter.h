// Passes on a part of the bytes of a stream.

#ifndef SANDBOX_EGRESS_BYTE_FILTER_H_
#define SANDBOX_EGRESS_BYTE_FILTER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace egress {

// Not thread-safe.
class ByteFilter {
 public:
  enum class State {
    // Every byte must pass through Filter().
    kFiltering,
    // All further bytes go on as they are.
    kPassing,
    // No further byte goes on.
    kDone,
    // The stream violates its format.
    kMalformed,
  };

  virtual ~ByteFilter() = default;

  virtual State state() const = 0;

  // Appends those of `bytes` that may pass to `out`. They follow those of the
  // last call. Call it in state kFiltering only.
  virtual void Filter(absl::string_view bytes, std::string* out) = 0;

  // Appends the bytes that were held back. Called when the sender has closed
  // its side.
  virtual void Finish(std::string* out) = 0;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_BYTE_FILTER_H_
