#include "bridge/jsonrpc/message.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "bridge/jsonrpc/members.h"

namespace bridge {
namespace {

// Classifies a line that is not an object with members.
Message::Kind KindWithoutMembers(absl::string_view line) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(
      absl::StripPrefix(line, kByteOrderMark));
  if (absl::StartsWith(text, "[")) {
    return Message::Kind::kBatch;
  }
  return absl::StartsWith(text, "{") ? Message::Kind::kBroken
                                     : Message::Kind::kOther;
}

std::optional<std::string> DecodeString(absl::string_view text) {
  if (!absl::StartsWith(text, "\"")) {
    return std::nullopt;
  }
  const std::optional<Json> value = ParseJson(text);
  if (!value.has_value() || !value->is_string()) {
    return std::nullopt;
  }
  return value->get<std::string>();
}

}  // namespace

bool Message::MayMeanMethod(absl::string_view prefix) const {
  return std::any_of(other_methods_.begin(), other_methods_.end(),
                     [prefix](const std::string& method) {
                       return absl::StartsWith(method, prefix);
                     });
}

Message Message::Classify(absl::string_view line) {
  Message message;
  const std::optional<std::vector<Member>> members = ScanObject(line);
  if (!members.has_value()) {
    message.kind_ = KindWithoutMembers(line);
    return message;
  }
  for (const Member& member : *members) {
    if (absl::EqualsIgnoreCase(member.name, "method")) {
      message.other_methods_.push_back(DecodeString(member.value).value_or(""));
    }
  }
  const std::optional<absl::string_view> id = FindMember(*members, "id");
  const std::optional<absl::string_view> result =
      FindMember(*members, "result");
  if (const auto method = FindMember(*members, "method"); method.has_value()) {
    std::optional<std::string> name = DecodeString(*method);
    if (!name.has_value()) {
      return message;
    }
    message.method_ = *std::move(name);
    if (message.other_methods_.size() == 1) {
      message.other_methods_.clear();
    }
    message.kind_ = id.has_value() ? Kind::kRequest : Kind::kNotification;
    message.params_ = FindMember(*members, "params").value_or("");
  } else if (id.has_value() &&
             (result.has_value() || FindMember(*members, "error"))) {
    message.kind_ = Kind::kResponse;
    message.result_ = result.value_or("");
  } else {
    return message;
  }
  message.id_ = id.value_or("");
  return message;
}

std::string CanonicalId(absl::string_view id) {
  const std::optional<std::string> text = DecodeString(id);
  return text.has_value() ? Serialize(*text) : static_cast<std::string>(id);
}

std::optional<std::string> StringMember(absl::string_view text,
                                        absl::string_view name) {
  const std::optional<std::vector<Member>> members = ScanObject(text);
  if (!members.has_value()) {
    return std::nullopt;
  }
  const std::optional<absl::string_view> value = FindMember(*members, name);
  if (!value.has_value()) {
    return std::nullopt;
  }
  return DecodeString(*value);
}

}  // namespace bridge
