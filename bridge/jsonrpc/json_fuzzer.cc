// JSON and messages of JSON-RPC.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/members.h"
#include "bridge/jsonrpc/message.h"
#include "sandbox/base/log.h"

namespace {

bool IsPartOf(absl::string_view part, absl::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() &&
          part.data() + part.size() <= whole.data() + whole.size());
}

void CheckJson(absl::string_view text) {
  const bool is_json = bridge::IsJson(text);
  const bool deep = bridge::NestingDepth(text) > bridge::kMaxJsonDepth;
  const std::optional<bridge::Json> value = bridge::ParseJson(text);
  CHECK(value.has_value() == (is_json && !deep));
  CHECK(bridge::ParseOrderedJson(text).has_value() == value.has_value());
  if (value.has_value()) {
    const std::string written = bridge::Serialize(*value);
    const std::optional<bridge::Json> again = bridge::ParseJson(written);
    CHECK(again.has_value());
    CHECK(bridge::Serialize(*again) == written);
  }
}

void CheckMembers(absl::string_view text) {
  const auto members = bridge::ScanObject(text);
  if (!members.has_value()) {
    return;
  }
  for (const bridge::Member& member : *members) {
    CHECK(IsPartOf(member.value, text));
    // The rest of the text stays as it is.
    const std::string replaced =
        bridge::ReplacePart(text, member.value, "null");
    CHECK(replaced.size() == text.size() - member.value.size() + 4);
    CHECK(bridge::ScanObject(replaced).has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  CheckJson(text);
  CheckMembers(text);
  if (const auto elements = bridge::ScanArray(text)) {
    for (const absl::string_view element : *elements) {
      CHECK(IsPartOf(element, text));
    }
  }
  const bridge::Message message = bridge::Message::Classify(text);
  CHECK(IsPartOf(message.id(), text) && IsPartOf(message.params(), text) &&
        IsPartOf(message.result(), text));
  CHECK(message.kind() != bridge::Message::Kind::kRequest ||
        !message.id().empty());
  return 0;
}
