// Finds the end of a body with the transfer coding "chunked" (RFC 9112, 7.1).

#ifndef SANDBOX_EGRESS_CHUNKED_BODY_H_
#define SANDBOX_EGRESS_CHUNKED_BODY_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace egress {

// Strict where servers disagree: lines end in CR LF, a size has 1 to 15
// hexadecimal digits, extensions and trailers have no control characters, no
// line is folded. Not thread-safe.
class ChunkedBody {
 public:
  // Reads the bytes that follow those of the last call. Returns how many of
  // them belong to the body: all, unless the body is complete or malformed.
  size_t Read(absl::string_view bytes);

  bool complete() const { return state_ == State::kComplete; }
  bool malformed() const { return state_ == State::kMalformed; }

  static constexpr int kMaxDigits = 15;
  // The bytes of a chunk's extensions, and of all trailers.
  static constexpr size_t kMaxExtra = 16 << 10;

 private:
  enum class State {
    // The next three: before the first digit of a size, after a digit, and
    // after digits and spaces.
    kSize,
    kDigits,
    kSpace,
    kExtension,
    kSizeEnd,
    kData,
    kDataEnd,
    kDataLineFeed,
    // At the begin of a trailer or of the empty line.
    kTrailer,
    kTrailerName,
    kTrailerValue,
    kTrailerEnd,
    kLastLineFeed,
    kComplete,
    kMalformed,
  };

  State Next(char c);
  State NextInSize(char c);
  State NextAfterSize(char c);
  State NextInTrailerName(char c);
  State NextInTrailerValue(char c);
  State AddDigit(int digit);
  // Returns `state`, unless extensions or trailers are too long.
  State Extra(State state);

  State state_ = State::kSize;
  int digits_ = 0;
  uint64_t size_ = 0;
  size_t extra_ = 0;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_CHUNKED_BODY_H_
