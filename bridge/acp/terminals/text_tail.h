#ifndef BRIDGE_ACP_TERMINALS_TEXT_TAIL_H_
#define BRIDGE_ACP_TERMINALS_TEXT_TAIL_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Keeps the last bytes of a text that grows, cut between characters. Holds at
// most twice the limit, 64 KiB and the last piece in memory.
class TextTail {
 public:
  // 0 keeps nothing.
  explicit TextTail(size_t limit_bytes) : limit_(limit_bytes) {}

  // `text` is valid UTF-8.
  void Append(absl::string_view text);

  // Forgets all text, and that any was cut.
  void Clear() {
    buffer_.clear();
    begin_ = 0;
    truncated_ = false;
  }

  // Call when text was lost before it could be appended.
  void MarkTruncated() { truncated_ = true; }

  // At most as long as the limit. Valid until the next call of Append.
  absl::string_view text() const {
    return absl::string_view(buffer_).substr(begin_);
  }

  // True once anything was cut or lost.
  bool truncated() const { return truncated_; }

  size_t held_bytes() const { return buffer_.size(); }

 private:
  const size_t limit_;
  std::string buffer_;
  // The index at which the text begins; the bytes before it were cut.
  size_t begin_ = 0;
  bool truncated_ = false;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_TEXT_TAIL_H_
