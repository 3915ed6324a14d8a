#include "bridge/jsonrpc/json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "bridge/jsonrpc/finite_numbers.h"

namespace bridge {
namespace {

// Returns the position behind the closing quote of the string at `begin`.
size_t SkipString(absl::string_view text, size_t begin) {
  size_t at = begin + 1;
  while (at < text.size() && text[at] != '"') {
    at += text[at] == '\\' ? 2 : 1;
  }
  return std::min(at + 1, text.size());
}

template <typename Value>
std::string Dump(const Value& value, int indent) {
  return value.dump(indent, /*indent_char=*/' ', /*ensure_ascii=*/false,
                    Value::error_handler_t::replace);
}

template <typename Value>
std::optional<Value> ParseFinite(absl::string_view text) {
  Value value = Value::parse(text.begin(), text.end(), /*cb=*/nullptr,
                             /*allow_exceptions=*/false);
  if (value.is_discarded()) {
    return std::nullopt;
  }
  return value;
}

template <typename Value>
std::optional<Value> Parse(absl::string_view text) {
  if (NestingDepth(text) > kMaxJsonDepth) {
    return std::nullopt;
  }
  std::optional<Value> value = ParseFinite<Value>(text);
  if (!value.has_value()) {
    if (const auto finite = WithFiniteNumbers(text); finite.has_value()) {
      value = ParseFinite<Value>(*finite);
    }
  }
  return value;
}

}  // namespace

size_t NestingDepth(absl::string_view text) {
  size_t depth = 0;
  size_t deepest = 0;
  for (size_t at = 0; (at = text.find_first_of("\"{}[]", at)) != text.npos;) {
    if (text[at] == '"') {
      at = SkipString(text, at);
      continue;
    }
    if (text[at] == '{' || text[at] == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (depth > 0) {
      --depth;
    }
    ++at;
  }
  return deepest;
}

std::optional<Json> ParseJson(absl::string_view text) {
  return Parse<Json>(text);
}

std::optional<OrderedJson> ParseOrderedJson(absl::string_view text) {
  return Parse<OrderedJson>(text);
}

bool IsJson(absl::string_view text) {
  if (Json::accept(text.begin(), text.end())) {
    return true;
  }
  const std::optional<std::string> finite = WithFiniteNumbers(text);
  return finite.has_value() && Json::accept(*finite);
}

std::string Serialize(const Json& value) { return Dump(value, -1); }

std::string SerializeOrdered(const OrderedJson& value) {
  return Dump(value, -1);
}

std::string SerializeIndented(const OrderedJson& value) {
  return Dump(value, 2);
}

OrderedJson JavaScriptNumber(double value) {
  // Beyond 2^53 not every integer is a double.
  constexpr double kSafe = 9007199254740992.0;
  return value == std::floor(value) && std::abs(value) < kSafe
             ? OrderedJson(static_cast<int64_t>(value))
             : OrderedJson(value);
}

}  // namespace bridge
