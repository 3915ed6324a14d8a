#include "bridge/mcp/terminal/keys.h"

#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace bridge {
namespace {

struct Key {
  const char* name;
  const char* bytes;
};

// In the order in which an error names the first ones. Keys with Ctrl and a
// letter are not listed here.
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

}  // namespace

absl::StatusOr<std::string> KeyBytes(absl::string_view key) {
  const auto found =
      Table().find(absl::AsciiStrToLower(absl::StripAsciiWhitespace(key)));
  if (found != Table().end()) {
    return found->second;
  }
  std::vector<std::string> names;
  for (const Key& known : kKeys) {
    if (names.size() < kNamedInError) {
      names.push_back(known.name);
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "Unknown key: \"", key,
      "\". Available keys include: ", absl::StrJoin(names, ", "), "..."));
}

}  // namespace bridge
