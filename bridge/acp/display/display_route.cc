#include "bridge/acp/display/display_route.h"

#include <optional>

#include "absl/status/status.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/members.h"

namespace bridge {
namespace {

// Returns the member as a value, null if there is none.
Json MemberOf(absl::string_view object, absl::string_view name) {
  const auto members = ScanObject(object);
  if (!members.has_value()) {
    return nullptr;
  }
  return ParseJson(FindMember(*members, name).value_or("null"))
      .value_or(nullptr);
}

bool IsTrue(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) && object[name] == true;
}

}  // namespace

ClientFeatures ParseClientFeatures(absl::string_view params) {
  const Json capabilities = MemberOf(params, "clientCapabilities");
  ClientFeatures features;
  features.terminal = IsTrue(capabilities, "terminal");
  if (capabilities.is_object() && capabilities.contains("_meta")) {
    const Json& meta = capabilities["_meta"];
    if (IsTrue(meta, "terminal_output")) {
      features.output_member = "terminal_output";
    } else if (IsTrue(meta, "terminal_output_delta")) {
      features.output_member = "terminal_output_delta";
    }
  }
  return features;
}

absl::StatusOr<DisplayChoice> ParseDisplayChoice(absl::string_view text) {
  if (text == "auto") {
    return DisplayChoice::kAuto;
  }
  if (text == "meta") {
    return DisplayChoice::kMeta;
  }
  if (text == "mirror") {
    return DisplayChoice::kMirror;
  }
  if (text == "text") {
    return DisplayChoice::kText;
  }
  return absl::InvalidArgumentError("allowed is auto, meta, mirror or text");
}

DisplayRoute ChooseRoute(DisplayChoice choice, const ClientFeatures& features) {
  const bool may_use_meta =
      choice == DisplayChoice::kAuto || choice == DisplayChoice::kMeta;
  const bool may_mirror =
      choice == DisplayChoice::kAuto || choice == DisplayChoice::kMirror;
  if (may_use_meta && !features.output_member.empty()) {
    return DisplayRoute::kMeta;
  }
  if (may_mirror && features.terminal) {
    return DisplayRoute::kMirror;
  }
  return DisplayRoute::kText;
}

}  // namespace bridge
