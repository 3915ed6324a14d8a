#include "bridge/jsonrpc/json.h"

#include <algorithm>

namespace bridge {
namespace {

// Where the string that begins at `begin` ends: behind its closing quote.
size_t SkipString(absl::string_view text, size_t begin) {
  size_t at = begin + 1;
  while (at < text.size() && text[at] != '"') {
    at += text[at] == '\\' ? 2 : 1;
  }
  return std::min(at + 1, text.size());
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
  if (NestingDepth(text) > kMaxJsonDepth) {
    return std::nullopt;
  }
  Json value = Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                           /*allow_exceptions=*/false);
  if (value.is_discarded()) {
    return std::nullopt;
  }
  return value;
}

bool IsJson(absl::string_view text) {
  return Json::accept(text.begin(), text.end());
}

std::string Serialize(const Json& value) {
  return value.dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/false,
                    Json::error_handler_t::replace);
}

}  // namespace bridge
