#include "bridge/cli/attach/question_filter.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace bridge {
namespace {

constexpr char kEscape = '\x1b';
// Asks for the "answerback" message.
constexpr char kEnquiry = '\x05';
constexpr char kStarts[] = {kEscape, kEnquiry, '\0'};

bool IsFinal(char c) { return c >= '@' && c <= '~'; }

// Returns the size of a control sequence, which begins with ESC [. Absent while
// more output is needed to know it.
std::optional<size_t> ControlSequenceSize(absl::string_view text) {
  for (size_t at = 2; at < text.size(); ++at) {
    if (IsFinal(text[at])) {
      return at + 1;
    }
    if (text[at] < ' ' || text[at] > '~') {
      return at;  // broken off
    }
  }
  return std::nullopt;
}

// Returns the size of the sequence at the begin of `text`, which begins with
// ESC. Absent while more output is needed to know it.
std::optional<size_t> SequenceSize(absl::string_view text) {
  if (text.size() < 2) {
    return std::nullopt;
  }
  if (text[1] == '[') {
    return ControlSequenceSize(text);
  }
  if (text[1] == ']' || text[1] == 'P') {
    const size_t end =
        text.find_first_of(absl::string_view("\x07\x1b\x18\x1a"), 2);
    if (end == text.npos || (text[end] == kEscape && end + 1 == text.size())) {
      return std::nullopt;
    }
    return text[end] == kEscape ? end + 2 : end + 1;
  }
  return 2;
}

// A report of the window: CSI Ps t. Other numbers change the window.
bool IsWindowReport(absl::string_view parameters) {
  const absl::string_view number = parameters.substr(0, parameters.find(';'));
  for (const absl::string_view report :
       {"11", "13", "14", "15", "16", "18", "19", "20", "21"}) {
    if (number == report) {
      return true;
    }
  }
  return false;
}

// `body`: from after CSI to the final character.
bool IsControlQuestion(absl::string_view body) {
  const char final = body.back();
  const absl::string_view parameters = body.substr(0, body.size() - 1);
  const bool is_private = absl::StartsWith(parameters, "?");
  switch (final) {
    case 'c':  // DA, but not the cursor styles of Linux: CSI ? ... c
      return !is_private;
    case 'n':  // DSR; CSI > ... n sets options of keys
      return !absl::StartsWith(parameters, ">");
    case 'p':  // DECRQM
      return absl::EndsWith(parameters, "$");
    case 'q':  // XTVERSION
      return absl::StartsWith(parameters, ">");
    case 't':
      return IsWindowReport(parameters);
    case 'u':  // the keyboard protocol of kitty
    case 'm':  // XTQMODKEYS
    case 'S':  // XTSMGRAPHICS
    case 'x':
      return is_private || final == 'x';
    case 'w':  // DECRQPSR, DECRQTSR
      return absl::EndsWith(parameters, "$") || absl::EndsWith(parameters, "&");
    case 'y':  // DECRQCRA
      return absl::EndsWith(parameters, "*");
    default:
      return false;
  }
}

bool IsQuestion(absl::string_view sequence) {
  switch (sequence[1]) {
    case 'Z':  // DECID
      return sequence.size() == 2;
    case '[':
      return IsFinal(sequence.back()) && sequence.size() > 2 &&
             IsControlQuestion(sequence.substr(2));
    case 'P':  // DECRQSS, XTGETTCAP
      return absl::StartsWith(sequence.substr(2), "$q") ||
             absl::StartsWith(sequence.substr(2), "+q");
    case ']': {  // colours, the clipboard: one of the values is "?"
      absl::string_view body = sequence.substr(2);
      body = body.substr(0, body.find_first_of(absl::string_view("\x07\x1b")));
      const size_t values = body.find(';');
      if (values == body.npos || absl::StartsWith(body, "0;") ||
          absl::StartsWith(body, "1;") || absl::StartsWith(body, "2;")) {
        return false;  // a title
      }
      for (const absl::string_view value :
           absl::StrSplit(body.substr(values + 1), ';')) {
        if (value == "?") {
          return true;
        }
      }
      return false;
    }
    default:
      return false;
  }
}

}  // namespace

std::string QuestionFilter::Filter(absl::string_view output) {
  const std::string text = absl::StrCat(begun_, output);
  begun_.clear();
  std::string passed;
  absl::string_view rest = text;
  while (!rest.empty()) {
    const size_t plain = rest.find_first_of(kStarts);
    absl::StrAppend(&passed, rest.substr(0, plain));
    if (plain == rest.npos) {
      return passed;
    }
    rest.remove_prefix(plain);
    if (rest.front() == kEnquiry) {
      rest.remove_prefix(1);
      continue;
    }
    const std::optional<size_t> size = SequenceSize(rest);
    if (!size.has_value() && rest.size() <= kMaxSequence) {
      begun_ = std::string(rest);
      return passed;
    }
    const absl::string_view sequence = rest.substr(0, size.value_or(1));
    if (!size.has_value() || !IsQuestion(sequence)) {
      absl::StrAppend(&passed, sequence);
    }
    rest.remove_prefix(sequence.size());
  }
  return passed;
}

}  // namespace bridge
