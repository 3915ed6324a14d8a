#include "bridge/mcp/protocol/surrogates.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace bridge {
namespace {

constexpr size_t kEscapeSize = 6;  // of \uXXXX
constexpr char kReplacement[] = "\\ufffd";

enum class Half { kNone, kHigh, kLow };

Half HalfAt(absl::string_view json, size_t at) {
  if (json.substr(at, 2) != "\\u" || json.size() < at + kEscapeSize) {
    return Half::kNone;
  }
  if (absl::ascii_tolower(json[at + 2]) != 'd') {
    return Half::kNone;
  }
  const char kind = absl::ascii_tolower(json[at + 3]);
  if (kind == '8' || kind == '9' || kind == 'a' || kind == 'b') {
    return Half::kHigh;
  }
  return kind >= 'c' && kind <= 'f' ? Half::kLow : Half::kNone;
}

}  // namespace

std::string ReplaceLoneSurrogates(absl::string_view json) {
  std::string repaired;
  for (size_t at = 0; at < json.size();) {
    if (json[at] != '\\') {
      const size_t next = json.find('\\', at);
      repaired.append(json.data() + at,
                      (next == json.npos ? json.size() : next) - at);
      at = next == json.npos ? json.size() : next;
      continue;
    }
    const Half half = HalfAt(json, at);
    size_t size = half == Half::kNone ? 2 : kEscapeSize;
    if (half == Half::kHigh && HalfAt(json, at + kEscapeSize) == Half::kLow) {
      size = 2 * kEscapeSize;
    } else if (half != Half::kNone) {
      repaired += kReplacement;
      at += size;
      continue;
    }
    repaired.append(json.substr(at, size).data(), json.substr(at, size).size());
    at += size;
  }
  return repaired;
}

}  // namespace bridge
