#include "bridge/cli/report/escaped_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace bridge {
namespace {

bool IsContinuation(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

// Returns the size of the UTF-8 character at the beginning of `text`; 0: there
// is none. Follows RFC 3629: no overlong forms, no surrogates, nothing above
// U+10FFFF.
size_t CharacterSize(absl::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) {
    return 1;
  }
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) {
    return 0;
  }
  for (size_t i = 1; i < size; ++i) {
    if (!IsContinuation(text[i])) {
      return 0;
    }
  }
  const auto second = static_cast<uint8_t>(text[1]);
  const bool valid =
      (first != 0xE0 || second >= 0xA0) && (first != 0xED || second < 0xA0) &&
      (first != 0xF0 || second >= 0x90) && (first != 0xF4 || second < 0x90);
  return valid ? size : 0;
}

// Decodes a character of two to four bytes.
uint32_t Decode(absl::string_view character) {
  const int bits = 7 - static_cast<int>(character.size());
  uint32_t code = static_cast<uint8_t>(character[0]) & ((1 << bits) - 1);
  for (const char byte : character.substr(1)) {
    code = code << 6 | (static_cast<uint8_t>(byte) & 0x3F);
  }
  return code;
}

struct CodeRange {
  uint32_t first;
  uint32_t last;
};

// C0 and C1 control a terminal. The others are invisible, or change the order
// of the text, and so can deceive its reader.
constexpr CodeRange kUnprintable[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},      {0x61C, 0x61C},
    {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F},
    {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF}};

bool IsPrintable(absl::string_view character) {
  const uint32_t code = character.size() == 1
                            ? static_cast<uint8_t>(character[0])
                            : Decode(character);
  return std::none_of(std::begin(kUnprintable), std::end(kUnprintable),
                      [code](const CodeRange& range) {
                        return range.first <= code && code <= range.last;
                      });
}

std::string Hex(absl::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    absl::StrAppend(&text,
                    absl::StrFormat("\\x%02x", static_cast<uint8_t>(byte)));
  }
  return text;
}

std::string PrintableCharacter(absl::string_view character) {
  switch (character[0]) {
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return IsPrintable(character) ? std::string(character) : Hex(character);
  }
}

}  // namespace

std::string EscapeBytes(absl::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t size = CharacterSize(bytes);
    if (size == 0) {
      absl::StrAppend(&text, Hex(bytes.substr(0, 1)));
    } else {
      absl::StrAppend(&text, bytes[0] == '\\' ? "\\\\" : bytes.substr(0, size));
    }
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

std::string Printable(absl::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t size = CharacterSize(bytes);
    absl::StrAppend(&text, size == 0
                               ? Hex(bytes.substr(0, 1))
                               : PrintableCharacter(bytes.substr(0, size)));
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

size_t CountCharacters(absl::string_view text) {
  return text.size() - std::count_if(text.begin(), text.end(), IsContinuation);
}

absl::string_view FirstCharacters(absl::string_view text, size_t count) {
  size_t end = 0;
  while (end < text.size() && (count > 0 || IsContinuation(text[end]))) {
    count -= IsContinuation(text[end]) ? 0 : 1;
    ++end;
  }
  return text.substr(0, end);
}

}  // namespace bridge
