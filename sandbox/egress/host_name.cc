#include "sandbox/egress/host_name.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace egress {
namespace {

constexpr size_t kMaxLabel = 63;
constexpr absl::string_view kWildcard = "*.";

bool IsLabel(absl::string_view label) {
  return !label.empty() && label.size() <= kMaxLabel &&
         std::all_of(label.begin(), label.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  c == '-' || c == '_';
         });
}

// inet_aton(3) reads 127.1, 2130706433 and 0x7f000001 as addresses.
bool IsNumber(absl::string_view label) {
  return absl::StartsWith(label, "0x") ||
         std::all_of(label.begin(), label.end(), [](char c) {
           return absl::ascii_isdigit(static_cast<unsigned char>(c));
         });
}

}  // namespace

std::optional<std::string> NormalizeHostName(absl::string_view name) {
  absl::ConsumeSuffix(&name, ".");
  if (name.empty() || name.size() > kMaxHostName) {
    return std::nullopt;
  }
  std::string lower = absl::AsciiStrToLower(name);
  const std::vector<absl::string_view> labels = absl::StrSplit(lower, '.');
  if (!std::all_of(labels.begin(), labels.end(), IsLabel) ||
      IsNumber(labels.back())) {
    return std::nullopt;
  }
  return lower;
}

absl::StatusOr<NamePattern> NamePattern::Parse(absl::string_view text) {
  absl::string_view rest = text;
  const bool wildcard = absl::ConsumePrefix(&rest, kWildcard);
  std::optional<std::string> name = NormalizeHostName(rest);
  if (!name.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text.substr(0, 2 * kMaxHostName), "': allowed is ",
                     kNamePatternRule));
  }
  return NamePattern(wildcard,
                     wildcard ? absl::StrCat(".", *name) : *std::move(name));
}

bool NamePattern::Matches(absl::string_view name) const {
  if (!wildcard_) {
    return name == name_;
  }
  return name.size() > name_.size() && absl::EndsWith(name, name_);
}

bool NamePattern::Covers(const NamePattern& other) const {
  if (!other.wildcard_) {
    return Matches(other.name_);
  }
  return wildcard_ && absl::EndsWith(other.name_, name_);
}

}  // namespace egress
