// The answer of a tool call.

#ifndef BRIDGE_MCP_TOOLS_TOOL_RESULT_H_
#define BRIDGE_MCP_TOOLS_TOOL_RESULT_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"

namespace bridge {

struct ToolResult {
  OrderedJson content = OrderedJson::array();
  // Matches the tool's outputSchema. Absent for errors.
  std::optional<OrderedJson> structured;
  bool is_error = false;

  static ToolResult Text(const std::string& text, OrderedJson structured) {
    ToolResult result;
    result.content.push_back({{"type", "text"}, {"text", text}});
    result.structured = std::move(structured);
    return result;
  }
  // The text is the value, indented.
  static ToolResult Object(const OrderedJson& value) {
    return Text(SerializeIndented(value), value);
  }
  static ToolResult Failure(const std::string& text) {
    ToolResult result = Text(text, {});
    result.structured.reset();
    result.is_error = true;
    return result;
  }
  static ToolResult Failure(const absl::Status& status) {
    return Failure(absl::StrCat("Error: ", status.message()));
  }
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TOOLS_TOOL_RESULT_H_
