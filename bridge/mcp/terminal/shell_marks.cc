#include "bridge/mcp/terminal/shell_marks.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace bridge {
namespace {

constexpr absl::string_view kIntroducer = "\x1b]133;";
constexpr size_t kMaxMark = 128;

// The size of the longest end of `text` that may begin a mark.
size_t BegunSize(absl::string_view text) {
  for (size_t size = std::min(kIntroducer.size(), text.size()); size > 0;
       --size) {
    if (text.substr(text.size() - size) == kIntroducer.substr(0, size)) {
      return size;
    }
  }
  return 0;
}

ShellMark Parse(absl::string_view body) {
  ShellMark mark;
  mark.kind = body.empty() ? '\0' : body.front();
  absl::string_view code = body;
  int value = 0;
  if (mark.kind == 'D' && absl::ConsumePrefix(&code, "D;") &&
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
  begun_ = text.substr(text.size() - BegunSize(text));
  return marks;
}

}  // namespace bridge
