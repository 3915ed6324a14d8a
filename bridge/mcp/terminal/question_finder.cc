#include "bridge/mcp/terminal/question_finder.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace bridge {
namespace {

// Longer sequences are no questions.
constexpr size_t kMaxSequence = 512;
constexpr char kEscape = '\x1b';

enum class Kind { kQuestion, kOther, kIncomplete };

// `sequence` begins with ESC.
Kind Classify(absl::string_view sequence) {
  if (sequence.size() < 2) {
    return Kind::kIncomplete;
  }
  const char type = sequence[1];
  if (type == 'Z') {
    return Kind::kQuestion;
  }
  if (type == ']' || type == 'P') {
    const size_t end = sequence.find_first_of("\x07\x1b", 2);
    if (end == sequence.npos) {
      return Kind::kIncomplete;
    }
    const absl::string_view body = sequence.substr(2, end - 2);
    return absl::StrContains(body, type == ']' ? "?" : "q") ? Kind::kQuestion
                                                            : Kind::kOther;
  }
  if (type != '[') {
    return Kind::kOther;
  }
  for (const char c : sequence.substr(2)) {
    if (c >= '@' && c <= '~') {
      return absl::StrContains("cnpqtuxy", absl::string_view(&c, 1))
                 ? Kind::kQuestion
                 : Kind::kOther;
    }
  }
  return Kind::kIncomplete;
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
