// The first byte is the size of the parts in which the rest arrives.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "bridge/acp/agent/line_splitter.h"
#include "sandbox/base/log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  constexpr size_t kLimit = 64;
  const size_t part = std::max<size_t>(data[0], 1);
  const absl::string_view stream(reinterpret_cast<const char*>(data) + 1,
                                 size - 1);
  bridge::LineSplitter splitter(kLimit);
  std::string lines;
  bool dropped = false;
  const auto take = [&](const std::optional<bridge::LineSplitter::Line>& line) {
    CHECK(line->text.size() <= kLimit + 1);
    CHECK(!line->too_long || line->text.empty());
    dropped = dropped || line->too_long;
    lines += line->text;
  };
  for (size_t at = 0; at < stream.size(); at += part) {
    splitter.Append(stream.substr(at, part));
    while (const auto line = splitter.Next()) {
      take(line);
    }
  }
  if (const auto last = splitter.Finish()) {
    take(last);
  }
  CHECK(dropped || lines == stream);
  return 0;
}
