#include "bridge/acp/initialize.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/members.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {
namespace {

// The replacement of a part of a text. An empty part: an insertion there.
struct Edit {
  absl::string_view old_text;  // points into the text
  std::string new_text;
};

// Returns the edited text. `edits` are in the order of the text.
std::string Apply(absl::string_view text, const std::vector<Edit>& edits) {
  std::string result;
  const char* from = text.data();
  for (const Edit& edit : edits) {
    absl::StrAppend(&result,
                    absl::string_view(from, edit.old_text.data() - from),
                    edit.new_text);
    from = edit.old_text.data() + edit.old_text.size();
  }
  absl::StrAppend(&result,
                  absl::string_view(from, text.data() + text.size() - from));
  return result;
}

// Inserts a member at the front of an object; `empty` if it has no members yet.
Edit Insertion(absl::string_view object, absl::string_view member, bool empty) {
  return {object.substr(1, 0), absl::StrCat(member, empty ? "" : ",")};
}

std::string WithTerminal(absl::string_view capabilities) {
  const std::optional<std::vector<Member>> members = ScanObject(capabilities);
  if (!members.has_value()) {
    return R"({"terminal":true})";
  }
  std::vector<Edit> edits;
  for (const Member& member : *members) {
    if (member.name == "terminal") {
      edits.push_back({member.value, "true"});
    }
  }
  if (edits.empty()) {
    edits.push_back(
        Insertion(capabilities, R"("terminal":true)", members->empty()));
  }
  return Apply(capabilities, edits);
}

bool IsAboveOne(absl::string_view version) {
  const std::optional<Json> value = ParseJson(version);
  return value.has_value() && value->is_number() && value->get<double>() > 1;
}

}  // namespace

std::string EditInitialize(absl::string_view line) {
  const absl::string_view params = Message::Classify(line).params();
  const std::optional<std::vector<Member>> members = ScanObject(params);
  if (!members.has_value() || !IsJson(line)) {
    return static_cast<std::string>(line);
  }
  std::vector<Edit> edits;
  bool has_capabilities = false;
  for (const Member& member : *members) {
    if (member.name == "clientCapabilities") {
      has_capabilities = true;
      edits.push_back({member.value, WithTerminal(member.value)});
    } else if (member.name == "protocolVersion" && IsAboveOne(member.value)) {
      edits.push_back({member.value, "1"});
    }
  }
  if (!has_capabilities) {
    edits.insert(edits.begin(),
                 Insertion(params, R"("clientCapabilities":{"terminal":true})",
                           members->empty()));
  }
  return Apply(line, edits);
}

}  // namespace bridge
