#include "bridge/acp/terminals/utf8_decoder.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace bridge {
namespace {

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";
constexpr unsigned char kFirstNonAscii = 0x80;

// The bytes that may follow a first byte: how many, and the range of the next.
// The ranges exclude overlong forms, surrogates and values above U+10FFFF.
struct Sequence {
  int continuations;  // 0: the byte begins no character
  unsigned char lower;
  unsigned char upper;
};

Sequence SequenceOf(unsigned char first) {
  if (first >= 0xC2 && first <= 0xDF) {
    return {1, 0x80, 0xBF};
  }
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned char lower = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned char upper = first == 0xED ? 0x9F : 0xBF;
    return {2, lower, upper};
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned char lower = first == 0xF0 ? 0x90 : 0x80;
    const unsigned char upper = first == 0xF4 ? 0x8F : 0xBF;
    return {3, lower, upper};
  }
  return {0, 0, 0};
}

size_t AsciiPrefix(absl::string_view bytes) {
  size_t length = 0;
  while (length < bytes.size() &&
         static_cast<unsigned char>(bytes[length]) < kFirstNonAscii) {
    ++length;
  }
  return length;
}

}  // namespace

std::string Utf8Decoder::Decode(absl::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() + held_.size());
  while (!bytes.empty()) {
    const unsigned char byte = bytes.front();
    if (wanted_ > 0 && (byte < lower_ || byte > upper_)) {
      // The byte is not consumed: it may begin the next character.
      absl::StrAppend(&text, Finish());
    } else if (wanted_ > 0) {
      held_.push_back(bytes.front());
      lower_ = 0x80;
      upper_ = 0xBF;
      if (--wanted_ == 0) {
        text.append(held_);
        held_.clear();
      }
      bytes.remove_prefix(1);
    } else if (byte < kFirstNonAscii) {
      const size_t length = AsciiPrefix(bytes);
      text.append(bytes.data(), length);
      bytes.remove_prefix(length);
    } else {
      const Sequence sequence = SequenceOf(byte);
      if (sequence.continuations == 0) {
        absl::StrAppend(&text, kReplacement);
      } else {
        held_.assign(1, bytes.front());
        wanted_ = sequence.continuations;
        lower_ = sequence.lower;
        upper_ = sequence.upper;
      }
      bytes.remove_prefix(1);
    }
  }
  return text;
}

std::string Utf8Decoder::Finish() {
  const bool cut = !held_.empty();
  held_.clear();
  wanted_ = 0;
  return std::string(cut ? kReplacement : "");
}

}  // namespace bridge
