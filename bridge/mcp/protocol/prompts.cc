#include "bridge/mcp/protocol/prompts.h"

#include "bridge/mcp/tools/tool_list.h"

namespace bridge {
namespace {

constexpr char kToolUsage[] = "tool-usage";
constexpr char kDescription[] = "How to work with the terminal tools";

}  // namespace

OrderedJson PromptList() {
  return OrderedJson::array(
      {{{"name", kToolUsage}, {"description", kDescription}}});
}

OrderedJson GetPrompt(const OrderedJson& params) {
  if (!params.is_object() ||
      params.value("name", OrderedJson()) != OrderedJson(kToolUsage)) {
    return {};
  }
  return {{"description", kDescription},
          {"messages",
           OrderedJson::array(
               {{{"role", "user"},
                 {"content", {{"type", "text"}, {"text", Instructions()}}}}})}};
}

}  // namespace bridge
