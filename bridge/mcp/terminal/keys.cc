#include "bridge/mcp/terminal/keys.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace bridge {
namespace {

struct Key {
  const char* name;
  const char* bytes;
};

// The keys, in the order in which an error names the first of them. Keys with
// Ctrl and a letter are not listed here.
constexpr Key kKeys[] = {
    {"Enter", "\r"},         {"Tab", "\t"},
    {"Escape", "\x1b"},      {"Backspace", "\x7f"},
    {"Delete", "\x1b[3~"},   {"ArrowUp", "\x1b[A"},
    {"ArrowDown", "\x1b[B"}, {"ArrowRight", "\x1b[C"},
    {"ArrowLeft", "\x1b[D"}, {"Home", "\x1b[H"},
    {"End", "\x1b[F"},       {"PageUp", "\x1b[5~"},
    {"PageDown", "\x1b[6~"}, {"Insert", "\x1b[2~"},
    {"F1", "\x1bOP"},        {"F2", "\x1bOQ"},
    {"F3", "\x1bOR"},        {"F4", "\x1bOS"},
    {"F5", "\x1b[15~"},      {"F6", "\x1b[17~"},
    {"F7", "\x1b[18~"},      {"F8", "\x1b[19~"},
    {"F9", "\x1b[20~"},      {"F10", "\x1b[21~"},
    {"F11", "\x1b[23~"},     {"F12", "\x1b[24~"},
    {"Ctrl+[", "\x1b"},      {"Ctrl+\\", "\x1c"},
    {"Ctrl+]", "\x1d"},      {"Ctrl+^", "\x1e"},
    {"Ctrl+_", "\x1f"},
};
constexpr size_t kNamedInError = 15;
constexpr int kControl = 0x1f;

const std::map<std::string, std::string>& Table() {
  static const auto* const table = [] {
    auto* all = new std::map<std::string, std::string>;
    for (const Key& key : kKeys) {
      all->emplace(absl::AsciiStrToLower(key.name), key.bytes);
    }
    for (char letter = 'a'; letter <= 'z'; ++letter) {
      all->emplace(absl::StrCat("ctrl+", std::string(1, letter)),
                   std::string(1, static_cast<char>(letter & kControl)));
    }
    all->emplace("ctrl+space", std::string(1, '\0'));
    return all;
  }();
  return *table;
}

// "ESC [ A" and "ESC O P" become "ESC [ 1 ; 5 A", "ESC [ 5 ~" becomes
// "ESC [ 5 ; 5 ~".
std::string ModifySequence(absl::string_view sequence,
                           const Modifiers& modifiers) {
  const int parameter = 1 + (modifiers.shift ? 1 : 0) +
                        (modifiers.alt ? 2 : 0) + (modifiers.ctrl ? 4 : 0);
  const absl::string_view number = sequence.substr(2, sequence.size() - 3);
  return absl::StrCat("\x1b[", number.empty() ? "1" : number, ";", parameter,
                      sequence.substr(sequence.size() - 1));
}

// The control character of a key, as on a keyboard: Ctrl+3 is Escape. Others
// stay as they are.
char Control(char c) {
  constexpr absl::string_view kDigits = "2345678/";
  constexpr char kControls[] = {0, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x7f, 0x1f};
  const size_t digit = kDigits.find(c);
  if (digit != kDigits.npos) {
    return kControls[digit];
  }
  if (c == '?') {
    return '\x7f';
  }
  return c == ' ' || (c >= '@' && c <= '~') ? static_cast<char>(c & kControl)
                                            : c;
}

char ModifyByte(char c, const Modifiers& modifiers) {
  if (c == '\x7f') {
    return modifiers.ctrl ? '\b' : c;
  }
  const char shifted = modifiers.shift ? absl::ascii_toupper(c) : c;
  return modifiers.ctrl ? Control(shifted) : shifted;
}

std::string ModifyCharacter(std::string character, const Modifiers& modifiers) {
  if (character == "\t" && modifiers.shift) {
    character = "\x1b[Z";
  }
  if (character.size() == 1) {
    character[0] = ModifyByte(character[0], modifiers);
  }
  return modifiers.alt ? absl::StrCat("\x1b", character) : character;
}

bool IsOneCharacter(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) {
           return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
         }) == 1;
}

}  // namespace

absl::StatusOr<std::string> ModifiedKeyBytes(absl::string_view key,
                                             const Modifiers& modifiers) {
  const absl::StatusOr<std::string> named = KeyBytes(key);
  if (!modifiers.shift && !modifiers.alt && !modifiers.ctrl && named.ok()) {
    return named;
  }
  if (named.ok()) {
    return named->size() > 1 ? ModifySequence(*named, modifiers)
                             : ModifyCharacter(*named, modifiers);
  }
  if (absl::EqualsIgnoreCase(key, "space")) {
    return ModifyCharacter(" ", modifiers);
  }
  if (!IsOneCharacter(key)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Unknown key: \"", key,
                     "\". With modifiers, a key is a name such as ArrowUp, F5 "
                     "or Tab, Space, or one character"));
  }
  return ModifyCharacter(std::string(key), modifiers);
}

absl::StatusOr<std::string> KeyBytes(absl::string_view key) {
  const auto found =
      Table().find(absl::AsciiStrToLower(absl::StripAsciiWhitespace(key)));
  if (found != Table().end()) {
    return found->second;
  }
  std::vector<std::string> names;
  for (const Key& known : kKeys) {
    if (names.size() < kNamedInError) {
      names.emplace_back(known.name);
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "Unknown key: \"", key,
      "\". Available keys include: ", absl::StrJoin(names, ", "), "..."));
}

std::string ApplicationKeyBytes(absl::string_view bytes) {
  const bool moves = bytes.size() == 3 && absl::StartsWith(bytes, "\x1b[") &&
                     absl::StrContains("ABCDHF", bytes.substr(2));
  return moves ? absl::StrCat("\x1bO", bytes.substr(2)) : std::string(bytes);
}

}  // namespace bridge
