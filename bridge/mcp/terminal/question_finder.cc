#include "bridge/mcp/terminal/question_finder.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace bridge {
namespace {

// Longer sequences are no questions.
constexpr size_t kMaxSequence = 512;
constexpr char kEscape = '\x1b';

enum class Kind { kQuestion, kOther, kIncomplete };

// An operating system command, ESC ], or a device control string, ESC P.
Kind ClassifyString(absl::string_view sequence) {
  const size_t end = sequence.find_first_of("\x07\x1b", 2);
  if (end == sequence.npos) {
    return Kind::kIncomplete;
  }
  return absl::StrContains(sequence.substr(2, end - 2),
                           sequence[1] == ']' ? "?" : "q")
             ? Kind::kQuestion
             : Kind::kOther;
}

// A control sequence, ESC [, ends with its first byte in this range.
Kind ClassifyControl(absl::string_view sequence) {
  for (const char c : sequence.substr(2)) {
    if (c >= '@' && c <= '~') {
      return absl::StrContains("cnpqtuxy", absl::string_view(&c, 1))
                 ? Kind::kQuestion
                 : Kind::kOther;
    }
  }
  return Kind::kIncomplete;
}

// `sequence` begins with ESC.
Kind Classify(absl::string_view sequence) {
  if (sequence.size() < 2) {
    return Kind::kIncomplete;
  }
  switch (sequence[1]) {
    case 'Z':
      return Kind::kQuestion;
    case ']':
    case 'P':
      return ClassifyString(sequence);
    case '[':
      return ClassifyControl(sequence);
    default:
      return Kind::kOther;
  }
}

}  // namespace

bool QuestionFinder::Find(absl::string_view output) {
  const std::string text = absl::StrCat(begun_, output);
  begun_.clear();
  bool found = false;
  for (size_t at = text.find(kEscape); at != text.npos;
       at = text.find(kEscape, at + 1)) {
    switch (Classify(absl::string_view(text).substr(at))) {
      case Kind::kQuestion:
        found = true;
        break;
      case Kind::kOther:
        break;
      case Kind::kIncomplete:
        if (text.size() - at <= kMaxSequence) {
          begun_ = text.substr(at);
          return found;
        }
        break;
    }
  }
  return found;
}

}  // namespace bridge
