#ifndef BRIDGE_ACP_AGENT_LINE_SPLITTER_H_
#define BRIDGE_ACP_AGENT_LINE_SPLITTER_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Cuts a byte stream into lines and keeps every byte, newlines included. Holds
// no more than one line of the limit and the bytes appended last.
//
//   splitter.Append(bytes);
//   while (std::optional<Line> line = splitter.Next()) ...
class LineSplitter {
 public:
  struct Line {
    // Ends with a newline, except for the last line of a stream. Empty if the
    // line is too long.
    std::string text;
    // True if the line exceeds the limit; its bytes are dropped.
    bool too_long = false;
  };

  // The newline does not count.
  explicit LineSplitter(size_t limit_bytes) : limit_(limit_bytes) {}

  // Call only after Next() has returned nothing.
  void Append(absl::string_view bytes) {
    buffer_.append(bytes.data(), bytes.size());
  }

  // Returns the next whole line, or nothing if its end is still to come.
  // Reports a line that is too long once, as soon as the limit is exceeded.
  std::optional<Line> Next();

  // Call at the end of the stream. Returns the last line if it had no newline.
  std::optional<Line> Finish();

 private:
  // Drops the rest of a line that is too long. Returns false if its end is
  // still to come.
  bool DropRest();

  const size_t limit_;
  std::string buffer_;
  size_t begin_ = 0;     // where the next line begins in buffer_
  size_t searched_ = 0;  // between begin_ and here is no newline
  // True after a line was reported as too long, until its end has come.
  bool dropping_ = false;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_AGENT_LINE_SPLITTER_H_
