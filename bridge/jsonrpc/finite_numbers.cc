#include "bridge/jsonrpc/finite_numbers.h"

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

// The length of the string, number or other character at the begin of `text`.
size_t TokenLength(absl::string_view text) {
  if (text[0] == '"') {
    size_t at = 1;
    while (at < text.size() && text[at] != '"') {
      at += text[at] == '\\' ? 2 : 1;
    }
    return at + 1;
  }
  if (absl::ascii_isdigit(text[0]) || text[0] == '-') {
    return text.find_first_not_of("0123456789+-.eE");
  }
  return 1;
}

}  // namespace

std::optional<std::string> WithFiniteNumbers(absl::string_view text) {
  std::string result;
  bool is_changed = false;
  while (!text.empty()) {
    const absl::string_view token = text.substr(0, TokenLength(text));
    text.remove_prefix(token.size());
    if (IsTooLarge(token)) {
      is_changed = true;
      absl::StrAppend(&result, token[0] == '-' ? "-" : "", kLargest);
    } else {
      absl::StrAppend(&result, token);
    }
  }
  return is_changed ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace bridge
