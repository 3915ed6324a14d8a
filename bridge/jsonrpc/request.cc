#include "bridge/jsonrpc/request.h"

#include "absl/strings/str_cat.h"

namespace bridge {

std::string RequestLine(const std::string& id, const std::string& method,
                        const Json& params) {
  return absl::StrCat(R"({"jsonrpc":"2.0","id":)", Quote(id), R"(,"method":)",
                      Quote(method), R"(,"params":)", Serialize(params), "}\n");
}

std::string NotificationLine(const std::string& method, const Json& params) {
  return absl::StrCat(R"({"jsonrpc":"2.0","method":)", Quote(method),
                      R"(,"params":)", Serialize(params), "}\n");
}

std::string Quote(absl::string_view text) {
  return Serialize(Json(static_cast<std::string>(text)));
}

}  // namespace bridge
