#ifndef BRIDGE_ACP_TERMINALS_TEXT_TAIL_H_
#define BRIDGE_ACP_TERMINALS_TEXT_TAIL_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// The last bytes of a text that grows, cut at its front between characters.
// Takes at most twice the limit and 64 KiB of memory, and a piece's size while
// it is appended.
class TextTail {
 public:
  // 0 keeps nothing.
  explicit TextTail(size_t limit_bytes) : limit_(limit_bytes) {}

  // `text` is valid UTF-8.
  void Append(absl::string_view text);

  // Something that was never appended is missing.
  void MarkTruncated() { truncated_ = true; }

  // At most the limit. Valid until the next call of Append.
  absl::string_view text() const {
    return absl::string_view(buffer_).substr(begin_);
  }

  // Whether anything was ever cut.
  bool truncated() const { return truncated_; }

 private:
  const size_t limit_;
  std::string buffer_;
  // What is before it in buffer_ was cut.
  size_t begin_ = 0;
  bool truncated_ = false;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_TEXT_TAIL_H_
