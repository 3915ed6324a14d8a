#include "bridge/jsonrpc/finite_numbers.h"

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace bridge {
namespace {

constexpr char kLargest[] = "1.7976931348623157e308";

// Removes digits from the front. Returns how many there were.
size_t ConsumeDigits(absl::string_view& text) {
  size_t count = 0;
  while (count < text.size() && absl::ascii_isdigit(text[count])) {
    ++count;
  }
  text.remove_prefix(count);
  return count;
}

// https://www.rfc-editor.org/rfc/rfc8259#section-6
bool IsNumber(absl::string_view text) {
  absl::ConsumePrefix(&text, "-");
  const bool begins_with_zero = absl::StartsWith(text, "0");
  const size_t digits = ConsumeDigits(text);
  if (digits == 0 || (begins_with_zero && digits > 1) ||
      (absl::ConsumePrefix(&text, ".") && ConsumeDigits(text) == 0)) {
    return false;
  }
  if (absl::ConsumePrefix(&text, "e") || absl::ConsumePrefix(&text, "E")) {
    absl::ConsumePrefix(&text, "+") || absl::ConsumePrefix(&text, "-");
    return ConsumeDigits(text) > 0 && text.empty();
  }
  return text.empty();
}

bool IsTooLarge(absl::string_view number) {
  return IsNumber(number) &&
         std::isinf(std::strtod(std::string(number).c_str(), nullptr));
}

}  // namespace

std::optional<std::string> WithFiniteNumbers(absl::string_view text) {
  std::string result;
  bool is_changed = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        at += text[at] == '\\' ? 1 : 0;
      }
      at = at < text.size() ? at + 1 : text.size();
    } else if (absl::ascii_isdigit(text[at]) || text[at] == '-') {
      at = text.find_first_not_of("0123456789+-.eE", at);
      at = at == text.npos ? text.size() : at;
      if (const auto number = text.substr(begin, at - begin);
          IsTooLarge(number)) {
        is_changed = true;
        result.append(number[0] == '-' ? "-" : "").append(kLargest);
        continue;
      }
    } else {
      ++at;
    }
    result.append(text.data() + begin, at - begin);
  }
  return is_changed ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace bridge
