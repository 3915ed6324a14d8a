#include "bridge/mcp/terminal/plain_text.h"

#include <cstdint>

namespace bridge {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';

// Where the sequence that begins with ESC at `at` ends.
size_t SkipSequence(absl::string_view output, size_t at) {
  size_t next = at + 1;
  if (next >= output.size()) {
    return output.size();
  }
  const char type = output[next++];
  if (type == '[') {
    while (next < output.size() && (output[next] < '@' || output[next] > '~')) {
      ++next;
    }
    return next + 1;
  }
  if (absl::string_view("]P_^X").find(type) != absl::string_view::npos) {
    while (next < output.size() && output[next] != kBell &&
           output[next] != kEscape) {
      ++next;
    }
    return next < output.size() && output[next] == kEscape ? next + 2
                                                           : next + 1;
  }
  while (next <= output.size() && output[next - 1] >= ' ' &&
         output[next - 1] <= '/') {
    ++next;
  }
  return next;
}

// Takes the last character of the current line back.
void Backspace(size_t line, std::string* text) {
  while (text->size() > line) {
    const auto last = static_cast<uint8_t>(text->back());
    text->pop_back();
    if ((last & 0xc0) != 0x80) {
      return;
    }
  }
}

}  // namespace

std::string PlainText(absl::string_view output) {
  std::string text;
  size_t line = 0;           // where the current line begins
  bool begins_anew = false;  // after a carriage return
  for (size_t at = 0; at < output.size();) {
    const char c = output[at];
    if (c == kEscape) {
      at = SkipSequence(output, at);
      continue;
    }
    ++at;
    if (c == '\n') {
      text += c;
      line = text.size();
    } else if (c == '\r') {
      begins_anew = true;
    } else if (c == '\b') {
      Backspace(line, &text);
    } else if (c == '\t' || static_cast<uint8_t>(c) >= ' ') {
      if (begins_anew) {
        text.resize(line);
        begins_anew = false;
      }
      if (c != '\x7f') {
        text += c;
      }
    }
  }
  return text;
}

}  // namespace bridge
