#ifndef BRIDGE_ACP_AGENT_LINE_SPLITTER_H_
#define BRIDGE_ACP_AGENT_LINE_SPLITTER_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Cuts a byte stream into lines and keeps every byte, newlines included. Takes
// no more memory than one line of the limit and what was appended last.
//
//   splitter.Append(bytes);
//   while (std::optional<Line> line = splitter.Next()) ...
class LineSplitter {
 public:
  struct Line {
    // With its newline, which only the last line of a stream may lack. Empty if
    // the line is too long.
    std::string text;
    // The line had more than the limit; its bytes are dropped.
    bool too_long = false;
  };

  // Newlines don't count.
  explicit LineSplitter(size_t limit_bytes) : limit_(limit_bytes) {}

  // Only when Next() has returned nothing.
  void Append(absl::string_view bytes) {
    buffer_.append(bytes.data(), bytes.size());
  }

  // The next whole line. A line that is too long is reported as soon as it is,
  // once.
  std::optional<Line> Next();

  // At the end of the stream: the last line, if it had no newline.
  std::optional<Line> Finish();

 private:
  // Drops what is left of a line that is too long. False: its end is still to
  // come.
  bool DropRest();

  const size_t limit_;
  std::string buffer_;
  // Where the next line begins in buffer_, and how far no newline was found.
  size_t begin_ = 0;
  size_t searched_ = 0;
  // The rest of a line that was reported as too long is still to come.
  bool dropping_ = false;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_AGENT_LINE_SPLITTER_H_
