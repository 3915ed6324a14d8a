#ifndef BRIDGE_ACP_TERMINALS_UTF8_DECODER_H_
#define BRIDGE_ACP_TERMINALS_UTF8_DECODER_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Turns bytes that come in pieces into valid UTF-8. Replaces each maximal
// invalid part by one U+FFFD, as
// https://encoding.spec.whatwg.org/#utf-8-decoder defines it. Holds back a
// character that the end of a piece cuts, until its rest comes.
class Utf8Decoder {
 public:
  std::string Decode(absl::string_view bytes);

  // Call when the rest of a held character will not come, because the stream
  // ended or bytes were lost. Returns U+FFFD if a character was held back.
  std::string Finish();

 private:
  // How many continuation bytes are missing, and the range of the next one.
  int wanted_ = 0;
  unsigned char lower_ = 0x80;
  unsigned char upper_ = 0xBF;
  // The beginning of a character whose rest is missing.
  std::string held_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_UTF8_DECODER_H_
