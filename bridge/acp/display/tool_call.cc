#include "bridge/acp/display/tool_call.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/request.h"

namespace bridge {
namespace {

// Adds a member at the front of the text of an object. What is no object is
// replaced by one.
std::string WithMember(absl::string_view object, absl::string_view member) {
  const auto members = ScanObject(object);
  if (!members.has_value() || members->empty()) {
    return absl::StrCat("{", member, "}");
  }
  return absl::StrCat("{", member, ",", object.substr(1));
}

}  // namespace

void ToolCall::Merge(const std::vector<Member>& update) {
  for (const Member& member : update) {
    if (member.name != "sessionUpdate" && member.value != "null") {
      Set(member.name, member.value);
    }
  }
}

absl::string_view ToolCall::Get(absl::string_view name) const {
  for (const auto& [known, value] : members_) {
    if (known == name) {
      return value;
    }
  }
  return "";
}

void ToolCall::Set(absl::string_view name, absl::string_view value) {
  const auto known =
      std::find_if(members_.begin(), members_.end(),
                   [name](const auto& member) { return member.first == name; });
  if (known != members_.end()) {
    known->second = static_cast<std::string>(value);
  } else {
    members_.emplace_back(name, value);
  }
}

bool ToolCall::IsRunningCommand() const {
  const absl::string_view status = Get("status");
  return Get("kind") == "\"execute\"" &&
         (status.empty() || status == "\"pending\"" ||
          status == "\"in_progress\"");
}

std::string ToolCall::Announcement(absl::string_view content,
                                   absl::string_view meta_member) const {
  std::string text = R"({"sessionUpdate":"tool_call")";
  for (const auto& [name, value] : members_) {
    if (name != "content" && name != "_meta") {
      absl::StrAppend(&text, ",", Quote(name), ":", value);
    }
  }
  absl::StrAppend(&text, R"(,"content":)", content, R"(,"_meta":)",
                  WithMember(Get("_meta"), meta_member), "}");
  return text;
}

}  // namespace bridge
