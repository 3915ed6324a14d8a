#include "bridge/asciicast/cast_lines.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"

namespace bridge {
namespace {

// The number of bytes at the end that are the beginning of a UTF-8 character.
size_t IncompleteTail(absl::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<uint8_t>(text[text.size() - back]);
    if (byte >= 0xc0) {
      const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? back : 0;
    }
    if (byte < 0x80) {
      return 0;
    }
  }
  return 0;
}

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
  const size_t kept = IncompleteTail(text);
  incomplete_ = text.substr(text.size() - kept);
  text.resize(text.size() - kept);
  return text.empty() ? "" : Event(seconds, "o", text);
}

std::string CastLines::Resize(double seconds, uint32_t columns,
                              uint32_t rows) const {
  return Event(seconds, "r", absl::StrCat(columns, "x", rows));
}

}  // namespace bridge
