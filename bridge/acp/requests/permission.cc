#include "bridge/acp/requests/permission.h"

namespace bridge {

Json PermissionOption(const char* kind, const char* name) {
  return {{"optionId", kind}, {"name", name}, {"kind", kind}};
}

std::string SelectedOption(const Message& response) {
  const Json result = ParseJson(response.result()).value_or(nullptr);
  if (!result.is_object() || !result.contains("outcome")) {
    return "";
  }
  const Json& outcome = result["outcome"];
  if (!outcome.is_object() || !outcome.contains("optionId") ||
      !outcome["optionId"].is_string()) {
    return "";
  }
  return outcome["optionId"].get<std::string>();
}

}  // namespace bridge
