// The lines of a recording in the format asciicast v2
// (https://docs.asciinema.org/manual/asciicast/v2).

#ifndef BRIDGE_ASCIICAST_CAST_LINES_H_
#define BRIDGE_ASCIICAST_CAST_LINES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Each line ends with a newline. Not thread-safe.
class CastLines {
 public:
  // The first line.
  static std::string Header(uint32_t columns, uint32_t rows,
                            int64_t unix_seconds);

  // `seconds` counts from the begin. A character that the output has begun
  // waits for its other bytes. Returns an empty string if there is nothing to
  // write yet.
  std::string Output(double seconds, absl::string_view output);
  std::string Resize(double seconds, uint32_t columns, uint32_t rows) const;

 private:
  std::string incomplete_;  // the beginning of a character
};

}  // namespace bridge

#endif  // BRIDGE_ASCIICAST_CAST_LINES_H_
