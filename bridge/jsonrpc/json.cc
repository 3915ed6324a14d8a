#include "bridge/jsonrpc/json.h"

namespace bridge {

std::optional<Json> ParseJson(absl::string_view text) {
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
