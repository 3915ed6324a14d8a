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

  // In state kFiltering only. `bytes` follow those of the last call. Appends
  // the bytes that may pass to `out`.
  virtual void Filter(absl::string_view bytes, std::string* out) = 0;

  // The sender has closed its side. Appends the bytes that were held back.
  virtual void Finish(std::string* out) = 0;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_BYTE_FILTER_H_
