#include "bridge/asciicast/cast_lines.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "sandbox/base/utf8_tail.h"

namespace bridge {
namespace {

std::string Event(double seconds, const char* type, const std::string& data) {
  OrderedJson event = OrderedJson::array();
  event.push_back(JavaScriptNumber(seconds));
  event.push_back(type);
  event.push_back(data);
  return absl::StrCat(SerializeOrdered(event), "\n");
}

}  // namespace

std::string CastLines::Header(uint32_t columns, uint32_t rows,
                              int64_t unix_seconds) {
  const OrderedJson header = {{"version", 2},
                              {"width", columns},
                              {"height", rows},
                              {"timestamp", unix_seconds},
                              {"env", {{"TERM", "xterm-256color"}}}};
  return absl::StrCat(SerializeOrdered(header), "\n");
}

std::string CastLines::Output(double seconds, absl::string_view output) {
  std::string text = absl::StrCat(std::exchange(incomplete_, ""), output);
  const size_t kept = sandbox::IncompleteUtf8Tail(text);
  incomplete_ = text.substr(text.size() - kept);
  text.resize(text.size() - kept);
  return text.empty() ? "" : Event(seconds, "o", text);
}

std::string CastLines::Resize(double seconds, uint32_t columns,
                              uint32_t rows) const {
  return Event(seconds, "r", absl::StrCat(columns, "x", rows));
}

}  // namespace bridge
