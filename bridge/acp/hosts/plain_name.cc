#include "bridge/acp/hosts/plain_name.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace bridge {
namespace {

constexpr size_t kMaxName = 253;
constexpr size_t kMaxTitle = 64;
constexpr absl::string_view kLeftOut = "...";

bool IsPlain(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::optional<std::string> PlainName(absl::string_view name) {
  absl::ConsumeSuffix(&name, ".");
  if (name.empty() || name.size() > kMaxName ||
      !std::all_of(name.begin(), name.end(), IsPlain)) {
    return std::nullopt;
  }
  return absl::AsciiStrToLower(name);
}

std::string TitleOfName(const std::string& name) {
  if (name.size() <= kMaxTitle) {
    return name;
  }
  return absl::StrCat(kLeftOut,
                      name.substr(name.size() - kMaxTitle + kLeftOut.size()));
}

}  // namespace bridge
