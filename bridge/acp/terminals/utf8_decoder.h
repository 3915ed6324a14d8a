#ifndef BRIDGE_ACP_TERMINALS_UTF8_DECODER_H_
#define BRIDGE_ACP_TERMINALS_UTF8_DECODER_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Turns bytes that come in pieces into valid UTF-8. Each maximal part of what
// is not valid becomes one U+FFFD, as
// https://encoding.spec.whatwg.org/#utf-8-decoder has it. A character that is
// cut by the end of a piece is held back until the rest of it comes.
class Utf8Decoder {
 public:
  std::string Decode(absl::string_view bytes);

  // No more comes, or not the bytes that should: what was held back is not
  // valid.
  std::string Finish();

 private:
  // Continuation bytes still wanted, and what the next one may be.
  int wanted_ = 0;
  unsigned char lower_ = 0x80;
  unsigned char upper_ = 0xBF;
  // The beginning of a character.
  std::string held_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_UTF8_DECODER_H_
