// Decides byte by byte what of a stream goes on.

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
    // The stream is not what it ought to be.
    kMalformed,
  };

  virtual ~ByteFilter() = default;

  virtual State state() const = 0;

  // For kFiltering. Appends to `out` what goes on of `bytes`, which follow
  // those of the last call.
  virtual void Filter(absl::string_view bytes, std::string* out) = 0;

  // The sender has closed its side. Appends what was held back.
  virtual void Finish(std::string* out) = 0;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_BYTE_FILTER_H_
