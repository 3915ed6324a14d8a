#include "bridge/jsonrpc/response.h"

#include "absl/strings/str_cat.h"

namespace bridge {

namespace {

std::string Line(absl::string_view id, absl::string_view result) {
  return absl::StrCat(R"({"jsonrpc":"2.0","id":)", id, R"(,"result":)", result,
                      "}\n");
}

}  // namespace

std::string ResultLine(absl::string_view id, const Json& result) {
  return Line(id, Serialize(result));
}

std::string OrderedResultLine(absl::string_view id, const OrderedJson& result) {
  return Line(id, SerializeOrdered(result));
}

std::string ErrorLine(absl::string_view id, const Error& error) {
  Json body = {{"code", static_cast<int>(error.code)},
               {"message", error.message}};
  if (!error.data.is_null()) {
    body["data"] = error.data;
  }
  return absl::StrCat(R"({"jsonrpc":"2.0","id":)", id, R"(,"error":)",
                      Serialize(body), "}\n");
}

}  // namespace bridge
