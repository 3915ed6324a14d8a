#include "bridge/acp/terminals/text_tail.h"

namespace bridge {
namespace {

// The number of dropped bytes that may stay in front of the text. Beyond it,
// the text is moved to the front.
constexpr size_t kSlack = 64 << 10;

bool ContinuesCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

}  // namespace

void TextTail::Append(absl::string_view text) {
  buffer_.append(text.data(), text.size());
  if (buffer_.size() - begin_ <= limit_) {
    return;
  }
  truncated_ = true;
  begin_ = buffer_.size() - limit_;
  while (begin_ < buffer_.size() && ContinuesCharacter(buffer_[begin_])) {
    ++begin_;
  }
  if (begin_ > limit_ + kSlack) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
}

}  // namespace bridge
