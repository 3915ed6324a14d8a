#include "server/api/ascii_text.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace server {

std::string AsciiText(absl::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<uint8_t>(byte);
    if (absl::ascii_isprint(value)) {
      text += byte;
    } else {
      absl::StrAppend(&text, "\\x", absl::Hex(value, absl::kZeroPad2));
    }
  }
  return text;
}

}  // namespace server
