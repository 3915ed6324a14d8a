#include "bridge/cli/attach/detach_keys.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace bridge {
namespace {

// Returns '\0' for Ctrl-@.
absl::StatusOr<char> ParseKey(absl::string_view text) {
  const absl::Status error = absl::InvalidArgumentError(
      "allowed are characters and ctrl-X, separated by commas: ctrl-p,ctrl-q");
  if (text.size() == 1 && absl::ascii_isgraph(text[0])) {
    return text[0];
  }
  if (!absl::ConsumePrefix(&text, "ctrl-") || text.size() != 1) {
    return error;
  }
  const char key = absl::ascii_toupper(text[0]);
  if (key < '@' || key > '_') {
    return error;
  }
  return static_cast<char>(key - '@');
}

}  // namespace

absl::StatusOr<DetachKeys> DetachKeys::Parse(absl::string_view text) {
  DetachKeys keys;
  if (text.empty()) {
    return keys;
  }
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::StatusOr<char> key = ParseKey(part);
    if (!key.ok()) {
      return key.status();
    }
    keys.keys_ += *key;
  }
  return keys;
}

std::string DetachKeys::Filter(absl::string_view typed) {
  std::string passed;
  for (const char byte : typed) {
    if (found_) {
      break;
    }
    held_ += byte;
    while (!absl::StartsWith(keys_, held_)) {
      passed += held_[0];
      held_.erase(0, 1);
    }
    found_ = !keys_.empty() && held_ == keys_;
  }
  return passed;
}

}  // namespace bridge
