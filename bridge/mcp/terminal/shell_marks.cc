#include "bridge/mcp/terminal/shell_marks.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace bridge {
namespace {

constexpr absl::string_view kIntroducer = "\x1b]133;";
constexpr size_t kMaxMark = 128;

ShellMark Parse(absl::string_view body) {
  ShellMark mark;
  mark.kind = body.empty() ? '\0' : body.front();
  absl::string_view code = body;
  int value = 0;
  if (absl::ConsumePrefix(&code, "D;") &&
      absl::SimpleAtoi(code.substr(0, code.find(';')), &value)) {
    mark.exit_code = value;
  }
  return mark;
}

}  // namespace

std::vector<ShellMark> ShellMarks::Find(uint64_t offset,
                                        absl::string_view output) {
  const std::string text = absl::StrCat(begun_, output);
  const uint64_t base = offset - begun_.size();
  begun_.clear();
  std::vector<ShellMark> marks;
  size_t at = 0;
  while ((at = text.find(kIntroducer.data(), at, kIntroducer.size())) !=
         text.npos) {
    const size_t body = at + kIntroducer.size();
    const size_t end = text.find_first_of("\x07\x1b", body);
    if (end == text.npos || (text[end] == '\x1b' && end + 1 == text.size())) {
      if (text.size() - at <= kMaxMark) {
        begun_ = text.substr(at);
      }
      return marks;
    }
    ShellMark mark = Parse(absl::string_view(text).substr(body, end - body));
    at = end + (text[end] == '\x1b' ? 2 : 1);
    mark.begin = base + body - kIntroducer.size();
    mark.end = base + at;
    marks.push_back(mark);
  }
  // An introducer that is not complete yet is shorter than this.
  begun_ =
      text.substr(text.size() - std::min(text.size(), kIntroducer.size() - 1));
  return marks;
}

}  // namespace bridge
