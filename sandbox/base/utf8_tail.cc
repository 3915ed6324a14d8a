#include "sandbox/base/utf8_tail.h"

#include <cstdint>

namespace sandbox {
namespace {

// Returns the length of the character that begins with this byte.
size_t CharacterLength(uint8_t first) {
  if (first < 0xe0) {
    return 2;
  }
  return first < 0xf0 ? 3 : 4;
}

}  // namespace

size_t IncompleteUtf8Tail(absl::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<uint8_t>(text[text.size() - back]);
    // 0xc0 and 0xc1 begin no character.
    if (byte >= 0xc2) {
      return CharacterLength(byte) > back ? back : 0;
    }
    if (byte < 0x80) {
      return 0;
    }
  }
  return 0;
}

}  // namespace sandbox
